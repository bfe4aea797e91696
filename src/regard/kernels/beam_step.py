"""A step of beam search in two kernels, in the plain case: no prefix, no phrases, everything in place.

What `search/beam.py` and `search/rules.py` compute by a hundred small operations, exactly: one kernel gives each
hypothesis its likeliest words, without those that the guard against repetition or a minimum length forbids; the other
lets the candidates of a sentence compete, and writes the hypotheses that go on and those that have ended to where they
stay. Orders are computed by counting: a candidate's rank is how many stand before it, and of equals the first stands
first. NaN stands before everything, as when PyTorch sorts.

Shapes: N sentences, W hypotheses of each, R = N * W, V vocabulary, K candidates of a hypothesis, T room for tokens,
B hypotheses that are kept once they have ended, P candidates of a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.logit_reading import BLOCK, scan
from regard.kernels.multiprocessors import tried_on

MOST_HYPOTHESES, MOST_TOKENS = 8, 4096  # tokens of all hypotheses of a sentence, padded


class Rules(NamedTuple):
    """What the search was asked for."""

    end: int
    minimum: int
    cycle: int
    copies: int
    early_stop: bool


@triton.jit  # type: ignore[untyped-decorator]
def _find(  # type: ignore[no-untyped-def]
    logits, maxima, tokens, lengths, values, words, ends, withheld, vocabulary, stride, blocks, room, minimum,
    end: tl.constexpr, cycle: tl.constexpr, copies: tl.constexpr, compared: tl.constexpr, blocks_2: tl.constexpr,
    looked_at: tl.constexpr, looked_at_2: tl.constexpr, count: tl.constexpr, size: tl.constexpr,
    numbers: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    tokens += row * room
    length = tl.load(lengths + row).to(tl.int32)
    back = tl.arange(0, compared)
    block = tl.arange(0, blocks_2)
    slot = tl.arange(0, looked_at_2 * size)
    free = block < blocks
    waiting = tl.load(maxima + row * blocks + block, mask=free, other=float("-inf")).to(tl.float32)
    tl.store(ends + row, tl.load(logits + end).to(tl.float32))
    fewer = length < minimum
    taken = fewer.to(tl.int32)
    highest = tl.full((), float("-inf"), tl.float32)
    number = tl.arange(0, numbers)  # of what is forbidden: the length of a cycle, or 0 for the end
    forbidden = tl.full((numbers,), -1, tl.int32)
    forbidden = tl.where((number == 0) & fewer, end, forbidden)
    for period in tl.static_range(1, cycle + 1):
        enough = length >= period * copies
        here = enough & (back < period * (copies - 1))
        one = tl.load(tokens + length - 1 - back, mask=here, other=0)
        other = tl.load(tokens + length - 1 - back - period, mask=here, other=0)
        again = enough & (tl.sum((one != other).to(tl.int32), 0) == 0)
        word = tl.load(tokens + length - period, mask=again, other=0).to(tl.int32)
        value = tl.load(logits + word, mask=again, other=float("-inf")).to(tl.float32)
        highest = tl.maximum(highest, value)
        taken += again.to(tl.int32)
        forbidden = tl.where((number == period) & again, word, forbidden)
    tl.store(withheld + row, highest)
    candidates = tl.full((looked_at_2 * size,), 0, tl.int32)
    looking = tl.minimum(count + taken, looked_at)
    for n in tl.range(0, looking):
        best = tl.max(tl.where(free, waiting, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (waiting == best), block, blocks_2), 0)
        free = free & (block != chosen)
        candidates = tl.where(slot // size == n, chosen * size + slot % size, candidates)
    inside = (candidates < vocabulary) & (slot < looking * size)
    value = tl.load(logits + candidates, mask=inside, other=float("-inf")).to(tl.float32)
    if taken > 0:
        for n in tl.range(0, cycle + 1):
            word = tl.max(tl.where(number == n, forbidden, -1), 0)
            value = tl.where(candidates == word, float("-inf"), value)
    free = inside
    for n in tl.static_range(count):
        best = tl.max(tl.where(free, value, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (value == best), candidates, vocabulary), 0)
        free = free & (candidates != chosen)
        tl.store(values + row * count + n, best)
        tl.store(words + row * count + n, tl.minimum(chosen, vocabulary - 1))


@triton.jit
def _first(total):  # type: ignore[no-untyped-def]
    """NaN stands first."""
    return tl.where(total == total, total, float("inf"))


@triton.jit  # type: ignore[untyped-decorator]
def _compete(  # type: ignore[no-untyped-def]
    values, words, normalisers, ends, withheld, limits, penalties,
    tokens, logprobs, lengths, totals, guarded,
    ended_tokens, ended_logprobs, ended_lengths, ended_totals, ended_guarded, said, rows, over, room,
    end: tl.constexpr, early_stop: tl.constexpr, width: tl.constexpr, count: tl.constexpr, kept: tl.constexpr,
    width_2: tl.constexpr, kept_2: tl.constexpr, room_2: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    first = sentence * width
    item = tl.arange(0, size)
    real = item < width * count
    place, rank_within = item // count, item % count
    limit = tl.load(limits + sentence)

    # the candidates, with what must end and what is left if nothing may be said
    logit = tl.load(values + first * count + item, mask=real, other=float("-inf"))
    token = tl.load(words + first * count + item, mask=real, other=-1)
    at = first + place
    length = tl.load(lengths + at, mask=real, other=0)
    before = tl.load(totals + at, mask=real, other=float("-inf"))
    last = tl.load(ends + at, mask=real, other=float("-inf"))
    guard = tl.load(guarded + at, mask=real, other=0) != 0
    top = tl.load(values + at * count, mask=real, other=float("-inf"))
    must = length == limit
    guard = guard | ((tl.load(withheld + at, mask=real, other=float("-inf")) > top) & (must == 0))
    leading = rank_within == 0
    logit = tl.where(must, tl.where(leading, last, float("-inf")), logit)
    token = tl.where(must & leading, end, token)
    slot = tl.arange(0, kept_2)
    of_ended = sentence * kept + slot
    ended_total = tl.load(ended_totals + of_ended, mask=slot < kept, other=float("-inf"))
    something = real & leading & (logit > float("-inf")) & (before > float("-inf"))
    nothing = (tl.sum(something.to(tl.int32), 0) == 0) & (tl.max((ended_total > float("-inf")).to(tl.int32), 0) == 0)
    logit = tl.where(nothing & leading & real, last, logit)
    token = tl.where(nothing & leading & real, end, token)
    logprob = logit - tl.load(normalisers + at, mask=real, other=0.0)
    logprob = tl.where(logprob > 0.0, 0.0, logprob)
    total = tl.where(real, before + logprob, float("-inf"))

    # their order
    key = _first(total)
    ahead = (key[:, None] > key[None, :]) | ((key[:, None] == key[None, :]) & (item[:, None] < item[None, :]))
    rank = tl.sum(ahead.to(tl.int32), 0)
    sooner = rank[:, None] < rank[None, :]
    ending = real & (token == end)
    never = (real == 0) | ending | (total == float("-inf"))
    going = (never == 0).to(tl.int32)
    among_going = tl.sum(tl.where(sooner, going[:, None], 0), 0)
    among_never = tl.sum(tl.where(sooner, 1 - going[:, None], 0), 0) + tl.sum(going, 0)
    order = tl.where(never, among_never, among_going)

    # those that have ended, with those that end now; of equals, the earlier
    now = ending & (rank < width)
    longer = tl.minimum(length + 1, room)
    score = tl.div_rn(total, tl.load(penalties + longer, mask=real, other=1.0))
    ended_length = tl.load(ended_lengths + of_ended, mask=slot < kept, other=0)
    ended_guard = tl.load(ended_guarded + of_ended, mask=slot < kept, other=0)
    ended_score = tl.div_rn(ended_total, tl.load(penalties + ended_length))
    new_key, old_key = tl.where(now, _first(score), float("-inf")), _first(ended_score)
    old_key = tl.where(slot < kept, old_key, float("-inf"))
    better = (old_key[:, None] > old_key[None, :]) | (
        (old_key[:, None] == old_key[None, :]) & (slot[:, None] < slot[None, :])
    )
    above = now[:, None] & (new_key[:, None] > old_key[None, :])
    old_rank = tl.sum(better.to(tl.int32), 0) + tl.sum(above.to(tl.int32), 0)
    higher = now[:, None] & ((new_key[:, None] > new_key[None, :]) | ((new_key[:, None] == new_key[None, :]) & sooner))
    not_below = (slot < kept)[:, None] & (old_key[:, None] >= new_key[None, :])
    new_rank = tl.sum(higher.to(tl.int32), 0) + tl.sum(not_below.to(tl.int32), 0)
    new_rank = tl.where(now, new_rank, size)
    old_rank = tl.where(slot < kept, old_rank, kept_2 + size)

    # slot by slot, where it comes from
    from_new = new_rank[:, None] == slot[None, :]
    from_old = old_rank[:, None] == slot[None, :]
    is_new = tl.sum(from_new.to(tl.int32), 0) > 0
    origin = tl.where(is_new, first + tl.sum(tl.where(from_new, place[:, None], 0), 0), 0)
    old = sentence * kept + tl.sum(tl.where(from_old, slot[:, None], 0), 0)
    step = tl.arange(0, room_2)
    inside = (slot < kept)[:, None] & (step < room)[None, :]
    ours, theirs = inside & is_new[:, None], inside & (is_new == 0)[:, None]
    line = tl.load(tokens + origin[:, None] * room + step[None, :], mask=ours, other=0)
    line += tl.load(ended_tokens + old[:, None] * room + step[None, :], mask=theirs, other=0)
    probability = tl.load(logprobs + origin[:, None] * room + step[None, :], mask=ours, other=0.0)
    probability += tl.load(ended_logprobs + old[:, None] * room + step[None, :], mask=theirs, other=0.0)
    spoken = tl.sum(tl.where(from_new, length[:, None], 0), 0)
    writes = ours & (step[None, :] == tl.minimum(spoken, room - 1)[:, None])
    line = tl.where(writes, tl.sum(tl.where(from_new, token[:, None], 0), 0)[:, None], line)
    probability = tl.where(writes, tl.sum(tl.where(from_new, logprob[:, None], 0.0), 0)[:, None], probability)
    new_total = tl.sum(tl.where(from_new, total[:, None], 0.0), 0)
    old_total = tl.sum(tl.where(from_old, ended_total[:, None], 0.0), 0)
    final_total = tl.where(is_new, new_total, old_total)
    new_length = tl.sum(tl.where(from_new, longer[:, None], 0), 0)
    final_length = tl.where(is_new, new_length, tl.sum(tl.where(from_old, ended_length[:, None], 0), 0))
    new_guard = tl.sum(tl.where(from_new, guard[:, None].to(tl.int32), 0), 0)
    old_guard = tl.sum(tl.where(from_old, ended_guard[:, None].to(tl.int32), 0), 0)
    final_guard = tl.where(is_new, new_guard, old_guard)
    final_score = tl.div_rn(final_total, tl.load(penalties + final_length))

    # hypothesis by hypothesis, what it goes on from
    hypothesis = tl.arange(0, width_2)
    from_item = order[:, None] == hypothesis[None, :]
    parent = tl.sum(tl.where(from_item, place[:, None], 0), 0)
    next_token = tl.sum(tl.where(from_item, token[:, None], 0), 0)
    next_logprob = tl.sum(tl.where(from_item, logprob[:, None], 0.0), 0)
    next_total = tl.sum(tl.where(from_item, total[:, None], 0.0), 0)
    next_total = tl.where(next_token == end, float("-inf"), next_total)
    behind = tl.sum(tl.where(from_item, length[:, None], 0), 0)
    next_guard = tl.sum(tl.where(from_item, guard[:, None].to(tl.int32), 0), 0)
    alive = (hypothesis < width)[:, None] & (step < room)[None, :]
    source = (first + parent)[:, None] * room + step[None, :]
    live_line = tl.load(tokens + source, mask=alive, other=0)
    live_probability = tl.load(logprobs + source, mask=alive, other=0.0)
    newest = step[None, :] == tl.minimum(behind, room - 1)[:, None]
    live_line = tl.where(newest, next_token[:, None], live_line)
    live_probability = tl.where(newest, next_logprob[:, None], live_probability)

    tl.debug_barrier()  # all threads have read all that they need, and may overwrite it
    there = of_ended[:, None] * room + step[None, :]
    tl.store(ended_tokens + there, line, mask=inside)
    tl.store(ended_logprobs + there, probability, mask=inside)
    tl.store(ended_totals + of_ended, final_total, mask=slot < kept)
    tl.store(ended_lengths + of_ended, final_length, mask=slot < kept)
    tl.store(ended_guarded + of_ended, final_guard.to(tl.uint8), mask=slot < kept)
    live = first + hypothesis
    exists = hypothesis < width
    there = live[:, None] * room + step[None, :]
    tl.store(tokens + there, live_line, mask=alive)
    tl.store(logprobs + there, live_probability, mask=alive)
    tl.store(totals + live, next_total, mask=exists)
    tl.store(lengths + live, tl.minimum(behind + 1, room), mask=exists)
    tl.store(guarded + live, next_guard.to(tl.uint8), mask=exists)
    tl.store(said + live, next_token, mask=exists)
    tl.store(rows + live, first + parent, mask=exists)
    if early_stop:
        reachable = tl.div_rn(next_total, tl.load(penalties + limit + 1 + tl.zeros((width_2,), tl.int64)))
        beyond = exists & (reachable > tl.max(tl.where(slot == kept - 1, final_score, float("-inf")), 0))
        unknown = exists & (reachable != reachable)
        worst = tl.sum(tl.where(slot == kept - 1, final_score, 0.0), 0)
        done = (tl.sum((beyond | unknown).to(tl.int32), 0) == 0) & (worst == worst)
    else:
        done = tl.sum((exists & (next_total > float("-inf"))).to(tl.int32), 0) == 0
    tl.store(over + sentence, done.to(tl.uint8))


def move(
    logits: Tensor,
    rules: Rules,
    live: Sequence[Tensor],
    ended: Sequence[Tensor],
    *,
    limits: Tensor,
    penalties: Tensor,
    said: Tensor,
    over: Tensor,
) -> Tensor:
    """One step from [R, V] logits -> [R] the row that each row continues.

    `live` and `ended` are tokens [N, W or B, T], their log-probabilities, and [N, W or B] lengths, totals and whether
    the guard stepped in. They are changed, as are [R] what is said, and [N] whether a sentence's results are known.
    [N] limits, and [T + 2] the length penalty of each length.
    """
    normalisers, maxima = scan(logits)
    (sentences, width, room), kept, vocabulary = live[0].shape, ended[0].size(1), logits.size(1)
    count, blocks = min(2 * width, vocabulary), maxima.size(1)
    values, ends, withheld = (
        torch.empty(size, dtype=torch.float32, device=logits.device)
        for size in (logits.size(0) * count, logits.size(0), logits.size(0))
    )
    words = torch.empty(logits.size(0) * count, dtype=torch.int32, device=logits.device)
    rows = torch.empty(logits.size(0), dtype=torch.int64, device=logits.device)
    looked_at = min(blocks, count + rules.cycle + 1)
    compared = triton.next_power_of_2(max(1, rules.cycle * (rules.copies - 1)))
    find: Any = _find
    find[(logits.size(0),)](
        logits, maxima, live[0], live[2], values, words, ends, withheld, vocabulary, logits.stride(0), blocks, room,
        rules.minimum, end=rules.end, cycle=rules.cycle, copies=rules.copies, compared=compared,
        blocks_2=triton.next_power_of_2(blocks), looked_at=looked_at, looked_at_2=triton.next_power_of_2(looked_at),
        count=count, size=BLOCK, numbers=triton.next_power_of_2(rules.cycle + 1), num_warps=4,
    )  # fmt: skip
    width_2, room_2 = triton.next_power_of_2(width), triton.next_power_of_2(room)
    size = triton.next_power_of_2(width * count)
    of_live, of_ended = ((*each[:4], each[4].view(torch.uint8)) for each in (live, ended))
    compete: Any = _compete
    compete[(sentences,)](
        values, words, normalisers, ends, withheld, limits, penalties, *of_live, *of_ended,
        said, rows, over.view(torch.uint8), room, end=rules.end, early_stop=rules.early_stop, width=width, count=count,
        kept=kept, width_2=width_2, kept_2=triton.next_power_of_2(kept), room_2=room_2, size=size,
        num_warps=1 if size <= 32 and width_2 * room_2 <= 512 else 4,
    )  # fmt: skip
    return rows


def fits(logits: Tensor, live: Sequence[Tensor]) -> bool:
    """Whether the kernels can hold it."""
    _, width, room = live[0].shape
    small = width <= MOST_HYPOTHESES and triton.next_power_of_2(width) * triton.next_power_of_2(room) <= MOST_TOKENS
    halves = torch.bfloat16, torch.float16
    return small and 2 * width <= logits.size(1) and logits.stride(1) == 1 and logits.dtype in (torch.float32, *halves)


class _Hypothesis(NamedTuple):
    tokens: tuple[int, ...]
    total: float


def _plainly(
    logits: list[list[float]], live: list[_Hypothesis], ended: list[_Hypothesis], end: int
) -> tuple[list[_Hypothesis], list[tuple[float, int, int]], list[_Hypothesis]]:
    """A step of one sentence, hypothesis by hypothesis: the best that go on, where from, and the best that ended."""
    candidates = []
    for place, (row, hypothesis) in enumerate(zip(logits, live, strict=True)):
        normaliser = math.log(sum(math.exp(logit) for logit in row))
        best = sorted(range(len(row)), key=lambda word: -row[word])[: 2 * len(live)]
        candidates += [(hypothesis.total + row[word] - normaliser, place, word) for word in best]
    candidates.sort(key=lambda candidate: -candidate[0])
    for total, place, word in candidates[: len(live)]:
        if word == end:
            ended = [*ended, _Hypothesis((*live[place].tokens, word), total)]
    going = [candidate for candidate in candidates if candidate[2] != end][: len(live)]
    kept = sorted(ended, key=lambda hypothesis: -hypothesis.total / ((5 + len(hypothesis.tokens)) / 6) ** 0.6)
    return [_Hypothesis((*live[place].tokens, word), total) for total, place, word in going], going, kept


def agrees() -> bool:
    """Whether some steps give what they give hypothesis by hypothesis, as nearly as float32 can tell."""
    device, _ = tried_on()
    draw, (width, room, end) = torch.Generator().manual_seed(0), (3, 6, 1)
    rules = Rules(end=end, minimum=0, cycle=2, copies=8, early_stop=True)
    penalties = ((5.0 + torch.arange(room + 2, device=device)) / 6.0) ** 0.6
    live, ended = (
        [
            torch.full((2, width, room), -1, device=device),
            torch.zeros(2, width, room, device=device),
            torch.zeros(2, width, dtype=torch.long, device=device),
            torch.full((2, width), -torch.inf, device=device),
            torch.zeros(2, width, dtype=torch.bool, device=device),
        ]
        for _ in range(2)
    )
    live[3][:, 0] = 0.0
    said, over = (
        torch.zeros(2 * width, dtype=torch.long, device=device),
        torch.zeros(2, dtype=torch.bool, device=device),
    )
    plain: list[tuple[list[_Hypothesis], list[_Hypothesis]]]
    plain = [([_Hypothesis((), 0.0)] + [_Hypothesis((), -math.inf)] * (width - 1), []) for _ in range(2)]
    limits = torch.full((2,), room - 1, device=device)
    for _ in range(room - 2):
        logits = 3 * torch.randn(2 * width, 90, generator=draw)
        logits[:, end] += 4.0
        rows = move(logits.to(device), rules, live, ended, limits=limits, penalties=penalties, said=said, over=over)
        for sentence, (going_on, finished) in enumerate(plain):
            mine = logits[sentence * width : (sentence + 1) * width].tolist()
            going_on, chosen, finished = _plainly(mine, going_on, finished, end)
            plain[sentence] = going_on, finished
            here = slice(sentence * width, (sentence + 1) * width)
            if rows[here].tolist() != [sentence * width + place for _, place, _ in chosen]:
                return False
            if said[here].tolist() != [word for _, _, word in chosen]:
                return False
            for fields, expected in ((live, going_on), (ended, finished[:width])):
                for slot, hypothesis in enumerate(expected):
                    length = int(fields[2][sentence, slot])
                    if tuple(fields[0][sentence, slot, :length].tolist()) != hypothesis.tokens:
                        return False
                    if abs(float(fields[3][sentence, slot]) - hypothesis.total) > 1e-3:
                        return False
    return True
