"""What the shop sells, where it stands, and what was sold."""

from django.db import models

from idempotency.uniqueness import unique_with_null


class Item(models.Model):
    sku = models.SlugField(primary_key=True)
    barcode = models.CharField(max_length=13, null=True, unique=True)
    left = models.PositiveIntegerField()


class Place(models.Model):
    shelf = models.SlugField()
    branch = models.SlugField(null=True)  # NULL: the central store
    sku = models.SlugField()

    class Meta:
        constraints = unique_with_null(fields=["shelf"], nullable="branch", name="place_taken")


class Order(models.Model):
    sku = models.SlugField()
    quantity = models.PositiveIntegerField(default=1)
    parcel = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"order {self.pk}"
