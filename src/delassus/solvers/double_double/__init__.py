"""The convex law in numbers of two doubles: an interior point and a polish with the bodies' velocities as unknowns."""
