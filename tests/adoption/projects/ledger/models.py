"""Their own ledger: what was invoiced, and what was paid out for it. People have UUIDs here."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Person(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)


class Invoice(models.Model):
    tenant = models.TextField()
    number = models.TextField(unique=True)
    owner = models.ForeignKey(Person, on_delete=models.PROTECT)
    amount = models.BigIntegerField()  # cents
    state = models.TextField(default="open")  # open, paid out, given up, taken back
