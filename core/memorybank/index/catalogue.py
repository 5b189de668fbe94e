"""Which collections there are in Chroma, what each is for, and where a bank's rows are."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any, cast

from memorybank.errors import IndexUnavailableError
from memorybank.index.layout import FORMAT, Described, Kind, Layout, described
from memorybank.index.limits import FILES_PER_COLLECTION
from memorybank.index.protocol import checked_dimension

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection

HNSW: dict[str, Any] = {
    "space": "cosine",  # the default is l2, and cannot be changed later
    "ef_construction": 100,
    "max_neighbors": 16,
    "ef_search": 400,  # on 10,000 hard vectors recall@10 was .92 at 200, .99 at 400 and more
}

SYNC_SHARD = 200
"""Rows between two saves of a shard: measured best for small writes (mean add 16.8 ms; 84 at 10,000)."""

SYNC_OWN = 1000
"""The same of a large bank's own collection, which is filled by imports: fewer saves, faster filling."""


class Catalogue:
    """The collections of one layout on one client, read at the start and kept up to date.

    ``shared``: other processes write there too (a server), so what is absent here may have appeared
    meanwhile. Every method may raise Chroma's own errors; the index turns them into ours.
    """

    def __init__(self, client: ClientAPI, layout: Layout, *, shared: bool, most: int | None = None) -> None:
        self.layout = layout
        self._client = client
        self._shared = shared
        self._most = most
        self._known: dict[str, tuple[Collection, Described]] = {}
        self.dimension: int = 0
        """Of the vectors that are there; 0 while nobody knows."""

    def survey(self) -> None:
        """Read anew what is there. Raises IndexUnavailableError if it is foreign, newer or mixed."""
        self.clear()
        for collection in self._listed():
            self._know(collection)
        self._check_room(len(self._known))

    def has_room(self) -> bool:
        """Whether one more collection can be kept open besides the shards, those made later included."""
        own = sum(about.bank is not None for _, about in list(self._known.values()))
        return self._most is None or self.layout.shards + own < self._most

    @property
    def empty(self) -> bool:
        """Whether nothing is there."""
        return not self._known

    def clear(self) -> None:
        """Forget everything that was read."""
        self._known = {}
        self.dimension = 0

    def check_dimension(self, given: int) -> None:
        """Raises InvalidInputError if vectors of ``given`` numbers do not fit what is there."""
        if self.dimension:
            checked_dimension(given, self.dimension)

    def banks(self, *kinds: Kind) -> set[str]:
        """The banks whose own collection is of one of these kinds."""
        found = [about for _, about in list(self._known.values())]
        return {about.bank for about in found if about.bank is not None and about.kind in kinds}

    def own(self, bank: str) -> Collection | None:
        """The bank's own collection once it is complete."""
        known = self._known.get(self.layout.own_name(bank))
        return None if known is None or known[1].kind is Kind.FILLING else known[0]

    def shard(self, bank: str) -> Collection | None:
        """The shard of the bank, if it was made."""
        name = self.layout.shard_name(self.layout.shard(bank))
        if name not in self._known and self._shared:
            self.fetch(name)
        known = self._known.get(name)
        return None if known is None else known[0]

    def names(self) -> set[str]:
        """What is there now, by name."""
        return {collection.name for collection in self._pages() if self._ours(collection.name)}

    def home(self, bank: str, dimension: int, there: Set[str] | None = None) -> Collection:
        """Where new rows of the bank go; made if it is not there yet.

        ``there``: what ``names`` has just given, which spares asking a server about each of many banks.
        """
        own_name = self.layout.own_name(bank)
        if self._shared and self.own(bank) is None and (there is None or own_name in there):
            self.fetch(own_name)
        own = self.own(bank)
        if own is not None:
            if not self._known[own.name][1].dimension:
                self.mark(own, self.layout.describe(Kind.OWN, dimension, bank))
            return own
        shard = self.shard(bank)
        if shard is not None:
            return shard
        name = self.layout.shard_name(self.layout.shard(bank))
        return self.create(name, self.layout.describe(Kind.SHARD, dimension))

    def places(self, bank: str) -> list[Collection]:
        """Every collection that may hold rows of the bank: its own, complete or not, and its shard."""
        name = self.layout.own_name(bank)
        if self._shared:
            self.fetch(name)
        own = self._known.get(name)
        shard = self.shard(bank)
        return ([own[0]] if own else []) + ([shard] if shard is not None else [])

    def everywhere(self) -> list[Collection]:
        """Every collection of this layout."""
        if self._shared:
            self.survey()
        return [collection for collection, _ in list(self._known.values())]

    def moved(self, bank: str) -> bool:
        """On a server: whether another process has moved the bank to a collection of its own meanwhile."""
        if not self._shared or self.own(bank) is not None:
            return False
        self.fetch(self.layout.own_name(bank))
        return self.own(bank) is not None

    def create(self, name: str, metadata: dict[str, str | int]) -> Collection:
        """A collection of that name, with our settings. IndexUnavailableError if one with others is there."""
        self._check_room(len(self._known) + (name not in self._known))
        sync = SYNC_OWN if "bank" in metadata else SYNC_SHARD
        collection = self._client.get_or_create_collection(
            name,
            metadata=dict(metadata),
            configuration=cast("CreateCollectionConfiguration", {"hnsw": {**HNSW, "sync_threshold": sync}}),
            embedding_function=None,
        )
        self._know(collection)  # it may have been there before, and then differing settings are ignored
        return collection

    def mark(self, collection: Collection, metadata: dict[str, str | int]) -> None:
        """Write a collection's metadata anew."""
        collection.modify(metadata=dict(metadata))
        self._know(collection)

    def remove(self, name: str) -> None:
        """Delete a collection, if it is there."""
        if name in self._known:
            self._client.delete_collection(name)
            del self._known[name]

    def remove_all(self) -> None:
        """Delete every collection of this layout's namespace, whatever is in it."""
        for name in self.names():
            self._client.delete_collection(name)
        self.clear()

    def fetch(self, name: str) -> None:
        """Ask Chroma for one collection; forget it if it is gone."""
        from chromadb.errors import NotFoundError

        try:
            self._know(self._client.get_collection(name, embedding_function=None))
        except NotFoundError:
            self._known.pop(name, None)

    def _check_room(self, needed: int) -> None:
        if self._most is not None and needed > self._most:
            raise IndexUnavailableError(
                f"the Chroma index has {needed} collections, but this process may open files for {self._most} only; "
                f"allow it {needed * FILES_PER_COLLECTION} open files or more (ulimit -n)",
                "limits",
            )

    def _ours(self, name: str) -> bool:
        return name.startswith(self.layout.namespace + ".")

    def _pages(self) -> list[Collection]:
        found: list[Collection] = []
        while page := self._client.list_collections(limit=100, offset=len(found)):
            found.extend(page)
        return found

    def _listed(self) -> Iterator[Collection]:
        for collection in self._pages():
            if self._ours(collection.name):
                yield self._client.get_collection(collection.name, embedding_function=None)
            elif not self._shared:
                raise IndexUnavailableError(
                    f"the Chroma folder holds a collection {collection.name!r} that is not MemoryBank's; "
                    "give the store a folder of its own",
                    "foreign",
                )

    def _know(self, collection: Collection) -> None:
        """Keep a collection if it is what it should be; otherwise IndexUnavailableError."""
        about = described(collection.metadata)
        made = collection.configuration_json
        space = (made.get("hnsw") or made.get("spann") or {}).get("space")  # distributed Chroma has SPANN
        if about is not None and about.format > FORMAT:
            raise IndexUnavailableError(
                f"the Chroma index has layout {about.format}, this MemoryBank knows {FORMAT}; upgrade it",
                "newer",
            )
        if about is None or space != HNSW["space"] or about.shards != self.layout.shards:
            raise IndexUnavailableError(
                f"the Chroma collection {collection.name!r} is not of this layout "
                f"(space {space}, shards {about.shards if about else 'unknown'}; expected {HNSW['space']}, "
                f"{self.layout.shards}); use another namespace, or rebuild the index",
                "foreign",
            )
        if self.dimension and about.dimension not in (0, self.dimension):
            raise IndexUnavailableError(
                f"the Chroma index mixes {self.dimension} and {about.dimension} dimensions; rebuild it",
                "damaged",
            )
        self.dimension = self.dimension or about.dimension
        self._known[collection.name] = (collection, about)
