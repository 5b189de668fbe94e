"""The words of the page: what there is to say, in which language. ``{…}`` fields are filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memorybank.text.language import Language


@dataclass(frozen=True, slots=True)
class Texts:
    """One language. ``parts``: why a memory was recalled, by the stage of its score."""

    code: Language
    html: Literal["en-US", "zh-CN"]
    other: str
    title: str
    full_title: str
    about: str
    language: str
    skip: str
    # the door
    who: str
    who_local: str
    profile: str
    open: str
    new_profile: str
    new_profile_hint: str
    start: str
    switch: str
    # the talk
    talk: str
    memory: str
    you: str
    companion: str
    offline: str
    offline_long: str
    model: str
    say: str
    send: str
    stop: str
    again: str
    undo: str
    undone: str
    nothing_to_undo: str
    hello: str
    thinking: str
    failed: str
    no_text: str
    stopped: str
    busy: str
    new_session: str
    # the tabs
    why: str
    portrait: str
    days: str
    fading: str
    search: str
    links: str
    data: str
    # why
    why_long: str
    why_none: str
    used: str
    because: str
    share: str
    # portrait and days
    portrait_long: str
    portrait_none: str
    days_none: str
    overall: str
    not_summed: str
    talk_of_day: str
    sum_up: str
    summing: str
    summed: str
    summed_failed: str
    by_llm: str
    by_quotes: str
    by_user: str
    stale: str
    # a memory
    strength: str
    retention: str
    pinned: str
    archived: str
    pin: str
    unpin: str
    correct: str
    corrected: str
    save: str
    cancel: str
    forget: str
    forget_sure: str
    forgotten: str
    restore: str
    restored: str
    remember: str
    remember_hint: str
    remembered: str
    # fading
    fading_long: str
    fading_none: str
    archives_on: str
    archives_now: str
    never: str
    forget_now: str
    forget_now_sure: str
    forget_now_done: str
    archives_nothing: str
    archive: str
    archive_none: str
    # search
    query: str
    since: str
    until: str
    with_archived: str
    find: str
    found: str
    found_none: str
    bad_date: str
    # links
    links_long: str
    links_none: str
    link_kinds: Mapping[str, str]
    # data
    holds: str
    export: str
    export_long: str
    exported: str
    erase: str
    erase_long: str
    erase_sure: str
    erase_word: str
    erase_type: str
    erased: str
    # pictures
    no_pictures: str
    picture_fading: str
    picture_days: str
    picture_links: str
    # kinds, reasons, times
    levels: Mapping[str, str]
    parts: Mapping[str, str]
    date: str
    moment: str
    in_days: str
    gone_wrong: str
