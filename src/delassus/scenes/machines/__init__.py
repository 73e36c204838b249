"""Open stand-ins for the robots and animatronic figures of paper 003, Table II: the same numbers of bodies, joints,
degrees of freedom, constraints and the same mass ratio, with geometry of our own."""
