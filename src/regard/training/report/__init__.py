"""What a finished run shows: the card, the page with its curves, and the numbers behind them."""
