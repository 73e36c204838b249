"""Products and vector passes in parallel, with results that do not depend on the number of threads."""
