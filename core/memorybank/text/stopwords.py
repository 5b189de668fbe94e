"""Words too common to search by. Modest lists: BM25's idf already makes common words cheap."""

ENGLISH: frozenset[str] = frozenset(
    """
    a an the this that these those and or but nor so if than then as of at by for from in into on
    onto out over to up with about i me my mine myself we us our ours ourselves you your yours
    yourself yourselves he him his himself she her hers herself it its itself they them their theirs
    themselves who whom whose which what when where why how is am are was were be been being do does
    did doing done have has had having will would shall should can could may might must not no yes
    just too very also there here because while i'm i've i'd i'll you're you've you'd you'll he's
    he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll they're they've they'd
    they'll that's that'd there's here's what's who's where's when's how's why's let's don't doesn't
    didn't isn't aren't wasn't weren't haven't hasn't hadn't won't wouldn't shan't shouldn't can't
    cannot couldn't mustn't mightn't ain't im ive dont doesnt didnt isnt wasnt cant wont http https
    www
    """.split()  # noqa: SIM905 - prose is easier to read and to change than a list of quotes
)

HAN: frozenset[str] = frozenset(
    "的了吗呢吧啊呀嘛哦哈是在和与及或就也都而且把被让给从向对跟这那我你您他她它们什么哪谁"
)
"""Function characters: left out as single characters, never from bigrams."""
