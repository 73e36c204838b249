"""Open stand-ins for the robots and animatronic figures of Tsounis et al. 2025, Table II: the same numbers of bodies,
joints, degrees of freedom, constraints and the same mass ratio, with geometry and motions of our own.

A machine is a file here: bodies and joints by `kit`, what driven joints follow by `motion`, legs that walk by `legs`,
what every machine is held to by `judge`."""
