"""Open stand-ins for the robots and animatronic figures of Tsounis et al. 2025, Table II: the same numbers of bodies,
joints, degrees of freedom, constraints and the same mass ratio, with geometry of our own."""
