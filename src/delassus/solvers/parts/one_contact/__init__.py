"""One-contact solvers: given the block D_kk and the velocity the rest of the system leaves, the contact's reaction."""
