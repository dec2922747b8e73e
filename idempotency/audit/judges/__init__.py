"""What the exchanges show, promise by promise. Pure: no Django, no I/O."""
