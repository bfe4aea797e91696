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
FINDING = 4  # warps


class Rules(NamedTuple):
    """What the search was asked for."""

    end: int
    minimum: int
    cycle: int
    copies: int
    early_stop: bool


@triton.jit  # type: ignore[untyped-decorator]
def _forbid(  # type: ignore[no-untyped-def]
    logits, tokens, length, minimum,
    end: tl.constexpr, cycle: tl.constexpr, copies: tl.constexpr, compared: tl.constexpr, numbers: tl.constexpr,
):  # fmt: skip
    """The words that may not be said, -1 where there is none, how many, and the highest logit that the guard takes."""
    number, back = tl.arange(0, numbers), tl.arange(0, compared)  # of a word: the length of its cycle; 0: the end
    fewer = length < minimum
    taken = fewer.to(tl.int32)
    highest = tl.full((), float("-inf"), tl.float32)
    forbidden = tl.where((number == 0) & fewer, end, -1)
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
    return forbidden, taken, highest


@triton.jit  # type: ignore[untyped-decorator]
def _find(  # type: ignore[no-untyped-def]
    logits, maxima, tokens, lengths, values, words, ends, withheld, vocabulary, stride, blocks, room, minimum,
    end: tl.constexpr, cycle: tl.constexpr, copies: tl.constexpr, compared: tl.constexpr, blocks_2: tl.constexpr,
    looked_at: tl.constexpr, looked_at_2: tl.constexpr, count: tl.constexpr, size: tl.constexpr,
    numbers: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    block, slot = tl.arange(0, blocks_2), tl.arange(0, looked_at_2 * size)
    free = block < blocks
    waiting = tl.load(maxima + row * blocks + block, mask=free, other=float("-inf")).to(tl.float32)
    tl.store(ends + row, tl.load(logits + end).to(tl.float32))
    length = tl.load(lengths + row).to(tl.int32)
    forbidden, taken, highest = _forbid(
        logits, tokens + row * room, length, minimum, end, cycle, copies, compared, numbers
    )
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
            word = tl.max(tl.where(tl.arange(0, numbers) == n, forbidden, -1), 0)
            value = tl.where(candidates == word, float("-inf"), value)
    free = inside
    for n in tl.static_range(count):
        best = tl.max(tl.where(free, value, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (value == best), candidates, vocabulary), 0)
        free = free & (candidates != chosen)
        tl.store(values + row * count + n, best)
        tl.store(words + row * count + n, tl.minimum(chosen, vocabulary - 1))


@triton.jit
def _key(total):  # type: ignore[no-untyped-def]
    """What is sorted by: NaN stands first."""
    return tl.where(total == total, total, float("inf"))


@triton.jit
def _count(which):  # type: ignore[no-untyped-def]
    """[any, ...] -> for each of the others, how many."""
    return tl.sum(which.to(tl.int32), 0)


@triton.jit
def _take(numbers, which):  # type: ignore[no-untyped-def]
    """[P] and, for each place, the one that it takes, [P, any] -> [any]; 0 where it takes none."""
    return tl.sum(tl.where(which, numbers[:, None], 0), 0)


@triton.jit  # type: ignore[untyped-decorator]
def _candidates(  # type: ignore[no-untyped-def]
    values, words, normalisers, ends, withheld, lengths, totals, guarded, item, place, real, first, limit, none_ended,
    count: tl.constexpr, end: tl.constexpr,
):  # fmt: skip
    """Tokens, log-probabilities, totals, the lengths before them, and whether the guard stepped in, all [P]."""
    at = first + place
    logit = tl.load(values + first * count + item, mask=real, other=float("-inf"))
    token = tl.load(words + first * count + item, mask=real, other=-1)
    length = tl.load(lengths + at, mask=real, other=0)
    before = tl.load(totals + at, mask=real, other=float("-inf"))
    last = tl.load(ends + at, mask=real, other=float("-inf"))
    guard = tl.load(guarded + at, mask=real, other=0) != 0
    top = tl.load(values + at * count, mask=real, other=float("-inf"))
    must, leading = length == limit, real & (item % count == 0)
    guard = guard | ((tl.load(withheld + at, mask=real, other=float("-inf")) > top) & (must == 0))
    logit = tl.where(must, tl.where(leading, last, float("-inf")), logit)
    token = tl.where(must & leading, end, token)
    something = leading & (logit > float("-inf")) & (before > float("-inf"))
    nothing = (_count(something) == 0) & none_ended
    logit = tl.where(nothing & leading, last, logit)
    token = tl.where(nothing & leading, end, token)
    logprob = logit - tl.load(normalisers + at, mask=real, other=0.0)
    logprob = tl.where(logprob > 0.0, 0.0, logprob)
    return token, logprob, tl.where(real, before + logprob, float("-inf")), length, guard.to(tl.int32)


@triton.jit  # type: ignore[untyped-decorator]
def _line(tokens, logprobs, row, where, room, token, logprob, length, room_2: tl.constexpr):  # type: ignore[no-untyped-def]
    """[any, T] the tokens of some rows with one more, and their log-probabilities."""
    step = tl.arange(0, room_2)[None, :]
    at, there = row[:, None] * room + step, where[:, None] & (step < room)
    newest = step == tl.minimum(length, room - 1)[:, None]
    line = tl.where(newest, token[:, None], tl.load(tokens + at, mask=there, other=0))
    return line, tl.where(newest, logprob[:, None], tl.load(logprobs + at, mask=there, other=0.0))


@triton.jit  # type: ignore[untyped-decorator]
def _ranks(score, now, sooner, ended_score, slot, kept: tl.constexpr):  # type: ignore[no-untyped-def]
    """Among all that have ended, the places of those that end now, [P], and of those before, [B]."""
    new, old = _key(score), tl.where(slot < kept, _key(ended_score), float("-inf"))
    better = (old[:, None] > old[None, :]) | ((old[:, None] == old[None, :]) & (slot[:, None] < slot[None, :]))
    old_rank = _count(better) + _count(now[:, None] & (new[:, None] > old[None, :]))
    higher = now[:, None] & ((new[:, None] > new[None, :]) | ((new[:, None] == new[None, :]) & sooner))
    new_rank = _count(higher) + _count((slot < kept)[:, None] & (old[:, None] >= new[None, :]))
    return tl.where(now, new_rank, kept), tl.where(slot < kept, old_rank, kept)


@triton.jit  # type: ignore[untyped-decorator]
def _end(  # type: ignore[no-untyped-def]
    now, sooner, place, token, logprob, total, length, guard, penalties, tokens, logprobs,
    ended_tokens, ended_logprobs, ended_lengths, ended_totals, ended_guarded, sentence, first, room,
    kept: tl.constexpr, kept_2: tl.constexpr, room_2: tl.constexpr,
):  # fmt: skip
    """Keeps the best of those that end now and of those that ended before. Gives the score of the last that is kept."""
    slot = tl.arange(0, kept_2)
    there, held, longer = slot < kept, sentence * kept + slot, tl.minimum(length + 1, room)
    old_total = tl.load(ended_totals + held, mask=there, other=float("-inf"))
    old_length = tl.load(ended_lengths + held, mask=there, other=0)
    old_guard = tl.load(ended_guarded + held, mask=there, other=0).to(tl.int32)
    score = tl.div_rn(total, tl.load(penalties + longer))
    new_rank, old_rank = _ranks(score, now, sooner, tl.div_rn(old_total, tl.load(penalties + old_length)), slot, kept)
    from_new, from_old = new_rank[:, None] == slot[None, :], old_rank[:, None] == slot[None, :]
    is_new, is_old = there & (_count(from_new) > 0), there & (_count(from_old) > 0)
    line, line_logprobs = _line(
        tokens, logprobs, first + _take(place, from_new), is_new, room, _take(token, from_new),
        _take(logprob, from_new), _take(length, from_new), room_2,
    )  # fmt: skip
    step, old = tl.arange(0, room_2)[None, :], sentence * kept + _take(slot, from_old)
    from_before = is_old[:, None] & (step < room)
    old_line = tl.load(ended_tokens + old[:, None] * room + step, mask=from_before, other=0)
    old_logprobs = tl.load(ended_logprobs + old[:, None] * room + step, mask=from_before, other=0.0)
    total = tl.where(is_new, _take(total, from_new), _take(old_total, from_old))
    length = tl.where(is_new, _take(longer, from_new), _take(old_length, from_old))
    guard = tl.where(is_new, _take(guard, from_new), _take(old_guard, from_old))
    tl.debug_barrier()  # all threads have read all that they need, and may overwrite it
    at, inside = held[:, None] * room + step, there[:, None] & (step < room)
    tl.store(ended_tokens + at, tl.where(is_new[:, None], line, old_line), mask=inside)
    tl.store(ended_logprobs + at, tl.where(is_new[:, None], line_logprobs, old_logprobs), mask=inside)
    tl.store(ended_totals + held, total, mask=there)
    tl.store(ended_lengths + held, length, mask=there)
    tl.store(ended_guarded + held, guard.to(tl.uint8), mask=there)
    final = tl.div_rn(total, tl.load(penalties + length))
    return tl.sum(tl.where(slot == kept - 1, final, 0.0), 0)


@triton.jit  # type: ignore[untyped-decorator]
def _go_on(  # type: ignore[no-untyped-def]
    order, place, token, logprob, total, length, guard, tokens, logprobs, lengths, totals, guarded, said, rows,
    first, room, end: tl.constexpr, width: tl.constexpr, width_2: tl.constexpr, room_2: tl.constexpr,
):  # fmt: skip
    """The candidates that are first in order go on; gives their totals, -inf for those that do not exist."""
    live = tl.arange(0, width_2)
    there, taken = live < width, order[:, None] == live[None, :]
    parent, word, before = first + _take(place, taken), _take(token, taken), _take(length, taken)
    line, line_logprobs = _line(tokens, logprobs, parent, there, room, word, _take(logprob, taken), before, room_2)
    total = tl.where(there & (word != end), _take(total, taken), float("-inf"))
    tl.debug_barrier()  # all threads have read all that they need, and may overwrite it
    live += first
    step = tl.arange(0, room_2)[None, :]
    at, inside = live[:, None] * room + step, there[:, None] & (step < room)
    tl.store(tokens + at, line, mask=inside)
    tl.store(logprobs + at, line_logprobs, mask=inside)
    tl.store(totals + live, total, mask=there)
    tl.store(lengths + live, tl.minimum(before + 1, room), mask=there)
    tl.store(guarded + live, _take(guard, taken).to(tl.uint8), mask=there)
    tl.store(said + live, word, mask=there)
    tl.store(rows + live, parent, mask=there)
    return total


@triton.jit  # type: ignore[untyped-decorator]
def _compete(  # type: ignore[no-untyped-def]
    values, words, normalisers, ends, withheld, limits, penalties, tokens, logprobs, lengths, totals, guarded,
    ended_tokens, ended_logprobs, ended_lengths, ended_totals, ended_guarded, said, rows, over, room,
    end: tl.constexpr, early_stop: tl.constexpr, width: tl.constexpr, count: tl.constexpr, kept: tl.constexpr,
    width_2: tl.constexpr, kept_2: tl.constexpr, room_2: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    first, limit = sentence * width, tl.load(limits + sentence)
    item, slot = tl.arange(0, size), tl.arange(0, kept_2)
    real, place = item < width * count, item // count
    before = tl.load(ended_totals + sentence * kept + slot, mask=slot < kept, other=float("-inf"))
    token, logprob, total, length, guard = _candidates(
        values, words, normalisers, ends, withheld, lengths, totals, guarded, item, place, real, first, limit,
        _count(before > float("-inf")) == 0, count, end,
    )  # fmt: skip
    key = _key(total)
    rank = _count((key[:, None] > key[None, :]) | ((key[:, None] == key[None, :]) & (item[:, None] < item[None, :])))
    sooner = rank[:, None] < rank[None, :]
    ends_now = real & (token == end)
    never = (real == 0) | ends_now | (total == float("-inf"))
    going = never == 0
    later = _count(going) + _count(sooner & never[:, None])
    order = tl.where(never, later, _count(sooner & going[:, None]))
    worst = _end(
        ends_now & (rank < width), sooner, place, token, logprob, total, length, guard, penalties, tokens, logprobs,
        ended_tokens, ended_logprobs, ended_lengths, ended_totals, ended_guarded, sentence, first, room,
        kept, kept_2, room_2,
    )  # fmt: skip
    total = _go_on(
        order, place, token, logprob, total, length, guard, tokens, logprobs, lengths, totals, guarded, said, rows,
        first, room, end, width, width_2, room_2,
    )  # fmt: skip
    if early_stop:
        reachable = tl.div_rn(total, tl.load(penalties + limit + 1 + tl.zeros((width_2,), tl.int64)))
        done = (_count((reachable > worst) | (reachable != reachable)) == 0) & (worst == worst)
    else:
        done = _count(total > float("-inf")) == 0
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
        count=count, size=BLOCK, numbers=triton.next_power_of_2(rules.cycle + 1), num_warps=FINDING,
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
