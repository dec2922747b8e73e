"""What this shop sells by."""

from django.conf import settings
from django.db import models


class Order(models.Model):
    buyer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    amount = models.PositiveIntegerField()
