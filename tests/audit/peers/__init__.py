"""Small projects of their own, each a payment view that is guarded as the guard's own pages say.

Each module is the settings, the addresses and the WSGI application of one project, and runs as a
process: `gunicorn tests.audit.peers.NAME:application`.
"""
