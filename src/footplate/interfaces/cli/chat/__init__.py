"""`footplate chat`: a session in this terminal. Pure parts make lines and actions; thin parts read and write."""
