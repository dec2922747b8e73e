"""The audit of an endpoint: black-box checks of the contract, fired at anybody's running API.

Requests go out in `conversation`, what came back is `evidence`, and the `judges` read it: pure
functions, so that every judgement can be tested without a server.
"""
