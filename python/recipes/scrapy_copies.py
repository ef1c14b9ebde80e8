"""Scrapy: an item pipeline that drops pages whose near-copy was crawled before, in this run or an earlier.

    ITEM_PIPELINES = {"scrapy_copies.NearCopies": 300}
    NEARKIN_INDEX = "crawled.nearkin"   # kept from run to run
    NEARKIN_REJECT = 0.9                # the similarity from which a page is a copy
    NEARKIN_TEXT = "text"               # the field of an item that is compared

Scrapy's own filter sees equal addresses. This one sees equal content: mirrors, print views, session ids,
articles of one agency. ``nearkin/copies`` in the statistics counts them.
"""

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

import nearkin as nk


class NearCopies:
    def __init__(self, settings, stats):
        self.path = settings.get("NEARKIN_INDEX", "crawled.nearkin")
        self.reject = settings.getfloat("NEARKIN_REJECT", 0.9)
        self.field = settings.get("NEARKIN_TEXT", "text")
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings, crawler.stats)

    def open_spider(self, spider=None):
        params = nk.Params(threshold=min(self.reject, 0.8))
        # An item is not acknowledged to anybody: a sync for each would buy nothing.
        self.index = nk.Index(self.path, params, durability="os")

    def close_spider(self, spider=None):
        self.index.close()

    def process_item(self, item, spider=None):
        fields = ItemAdapter(item)
        url, text = fields.get("url"), fields.get(self.field)
        if not url or not text:
            return item
        [told] = self.index.admit([url], [text], reject=self.reject)
        _, decision, like, similarity = told
        if decision == "rejected":
            self.stats.inc_value("nearkin/copies")
            raise DropItem(f"{url} is a near-copy of {like} ({similarity:.2f})")
        return item
