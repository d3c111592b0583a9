"""Side-by-side measurements of CPU, memory and start-up; `python -m bench` runs them."""
