"""Guarded operations in an OpenAPI schema, with drf-spectacular. One setting turns it on:

    REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "idempotency.openapi.AutoSchema"}

A project with a schema class of its own puts `IdempotentSchema` in front of its bases. The problems
that an operation may answer with besides the contract's are named by their registered codes:

    @extend_schema(responses={201: Order, **problem_responses("out_of_stock")})
"""

from idempotency.openapi.parts import problem_responses
from idempotency.openapi.schema import AutoSchema, IdempotentSchema

__all__ = ["AutoSchema", "IdempotentSchema", "problem_responses"]
