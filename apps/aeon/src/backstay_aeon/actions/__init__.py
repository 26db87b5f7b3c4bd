"""What people and programs ask for, a module for each noun."""
