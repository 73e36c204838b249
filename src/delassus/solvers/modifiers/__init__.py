"""What makes a solver of another one: Anderson acceleration, De Saxcé's fixed point."""
