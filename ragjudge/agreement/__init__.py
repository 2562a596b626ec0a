"""How far a judge agrees with people, and what makes it agree better."""
