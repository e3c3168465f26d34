"""Mutated models of every operator and of networks, each from one number."""

from dataclasses import dataclass

import numpy as np

from eightfold.cases.draws import Case
from eightfold.cases.networks import network_rng, random_network
from eightfold.cases.operators import OPERATORS, case_rng, random_case
from eightfold.model.mutate import Mutation, mutate, random_mutations
from eightfold.operators import load_model

NETWORKS = "network"
"""Stands for a random network where a base is named."""

_GIVEN = 64  # elements: shapes, axes and the like are smaller

BASES = (*OPERATORS, NETWORKS)
"""What mutants are made of."""


@dataclass(frozen=True)
class Mutant:
    """A file, how it is made, and arrays for the inputs of the model that it is made from.

    ``donor``: the operator of the model from which operators and tensors are spliced in. ``seed``:
    of the base and of the donor. ``given``: arrays by tensor index, also for constants, which may
    have become inputs; of every third seed these are back to front.
    """

    base: str
    donor: str
    seed: int
    mutations: tuple[Mutation, ...]
    content: bytes
    given: dict[int, np.ndarray]

    def __str__(self) -> str:
        changes = ", ".join(map(str, self.mutations))
        return f"{self.base} {self.seed}, donor {self.donor}: {changes}"


def base_case(base: str, seed: int) -> Case:
    """Return a random model of one operator, or a random network, with its inputs."""
    if base == NETWORKS:
        return random_network(network_rng(seed), max_elements=512, lengths=(3, 6))
    return random_case(base, case_rng(base, seed))


def make_mutant(base: str, donor: str, seed: int, mutations: tuple[Mutation, ...]) -> Mutant:
    """Return the mutant that is made so; the same for the same arguments."""
    content, given = base_case(base, seed)
    changed = mutate(content, mutations, base_case(donor, seed)[0])
    step = 1 if seed % 3 else -1
    constants = {
        tensor.index: tensor.data.reshape(-1)[::step].reshape(tensor.shape)
        for tensor in load_model(content).tensors
        if tensor.data is not None and tensor.data.size <= _GIVEN
    }
    return Mutant(base, donor, seed, mutations, changed, {**constants, **given})


def random_mutant(seed: int) -> Mutant:
    """Return mutant ``seed``: every base in turn, one to four mutations."""
    rng = np.random.default_rng([0x3A7E, seed])
    base = BASES[seed % len(BASES)]
    donor = str(rng.choice(OPERATORS))
    return make_mutant(base, donor, seed, tuple(random_mutations(rng)))
