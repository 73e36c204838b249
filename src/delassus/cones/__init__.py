"""Cones as geometry only: membership, projection, dual projection, distance."""

from delassus.cones.coulomb import Coulomb as Coulomb
from delassus.cones.free import Free as Free
from delassus.cones.orthant import Orthant as Orthant
from delassus.cones.product import ProductCone as ProductCone

CONES = {"free": Free, "orthant": Orthant, "coulomb": Coulomb, "product": ProductCone}
"""Every kind of cone; the contract tests run over this table."""
