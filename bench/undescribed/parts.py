"""The parts of the bench besides the queue, by name."""

from calibration import calibrate
from cost_part import cost
from interference_parts import coverage, pair
from memory_parts import liars
from recovery_parts import fault, pauses
from starts import starts

PARTS = {"calibrate": calibrate, "pair": pair, "coverage": coverage, "liars": liars, "fault": fault, "pauses": pauses, "cost": cost, "starts": starts}
