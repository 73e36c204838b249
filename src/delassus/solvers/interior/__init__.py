"""The interior-point method of Mangoni's thesis and of Mangoni and Tasora, and a faster one built on it."""
