"""Running claimed jobs, and turning what happens into outcomes."""
