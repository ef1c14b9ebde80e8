// What nearkin.hpp adds to the functions of C: moves, empty filters, listeners, payloads.
#include "nearkin.hpp"

#include <cstdio>

#define CHECK(condition)                                              \
  if (!(condition)) {                                                 \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    return 1;                                                         \
  }

using namespace nearkin;

// Compiles every member.
template class nearkin::Readable<nk_index>;

template <typename Work>
bool is_refused(Work work, nk_status status = NK_BAD_HANDLE) {
  try {
    work();
  } catch (const Error &error) {
    return error.status() == status;
  }
  return false;
}

int main(int, char **arguments) {
  const std::string path = arguments[1], text = "the ferry was cancelled after the harbour froze";
  Index index = Index::open_or_create(path, Params("threshold=0.7"), Options("durability=os"));
  const Signature signature = index.sketch(text);
  index.insert("tenant-a/secret", signature);

  // Conditions that were moved away do not become none.
  Query query;
  query.prefix("tenant-b/");
  CHECK(index.similar_to(signature, query).matches.empty());
  const Query moved(std::move(query));
  CHECK(index.similar_to(signature, moved).matches.empty());
  CHECK(is_refused([&] { index.similar_to(signature, query); }));
  CHECK(is_refused([&] { index.admit("tenant-b/x", signature, query); }));
  CHECK(is_refused([&] { query.prefix("tenant-a/"); }));
  CHECK(is_refused([&] { Query("limit=few"); }, NK_INVALID));
  Options options("durability=os");
  const Options kept(std::move(options));
  CHECK(is_refused([&] { Index::open(path, options); }));

  // An empty filter is none.
  Query filtered;
  filtered.filter([](const std::string &, const std::string &) { return false; });
  CHECK(index.similar_to(signature, filtered).matches.empty());
  filtered.filter(nullptr);
  CHECK(index.similar_to(signature, filtered).matches.size() == 1);

  // Calls that the program ends.
  Query ended;
  ended.cancel_if([] { return true; });
  CHECK(is_refused([&] { index.admit("tenant-c/x", signature, ended); }, NK_CANCELLED));
  ended.cancel_if(nullptr);
  CHECK(index.similar_to(signature, ended).complete);
  index.flush();
  index.insert("tenant-a/other", signature);
  CHECK(is_refused([&] { index.compact([] { return true; }); }, NK_CANCELLED));
  index.compact(std::function<bool()>());
  index.remove("tenant-a/other");

  // An index over which another one is moved is closed: nothing is left to replay.
  index = Index::temporary(Params("threshold=0.7"));
  const Index again = Index::open(path, kept);
  CHECK(again.size() == 1);
  CHECK(again.stats().find("\"changes_replayed\":0") != std::string::npos);

  // Payloads, prefixes, and events.
  std::vector<std::string> told;
  Index other = Index::temporary(
      Params("threshold=0.7"),
      Options().on_event([&told](nk_event_kind, const std::string &message, const std::string &json) {
        told.push_back(message + json);
      }));
  const std::string zeros("a\0b", 3);
  CHECK(other.admit("shop/1", signature, zeros, Query()).decision);
  CHECK(other.find("shop/1")->payload == zeros);
  CHECK(!other.admit("shop/2", signature, "second", Query()).decision);
  CHECK(other.set_payload("shop/1", "third") == NK_REPLACED);
  CHECK(other.find("shop/1")->payload == "third");
  Batch batch;
  CHECK(other.write(batch.insert("home/1", signature).remove("nobody")) ==
        (std::vector<nk_outcome>{NK_INSERTED, NK_MISSING}));
  CHECK(other.remove_before(1) == 0 && other.verify().empty());
  CHECK(!Index::exists(path + "-new"));
  Index::create(path + "-new", Params("threshold=0.7")).close();
  CHECK(Index::exists(path + "-new"));
  other.maintain();
  other.flush();
  other.insert("home/2", signature);
  other.flush();
  other.compact();
  CHECK(!told.empty() && told[0].back() == '}');

  // Iterators, and views of an index.
  std::string keys, pairs;
  const Snapshot view = other.snapshot();
  other.each_key("home/", [&keys](const std::string &key) { keys += key + ' '; });
  view.each_pair(Query("threshold=0.9"), [&pairs](const Pair &pair) { pairs += pair.a < pair.b ? "p" : "?"; });
  CHECK(keys == "home/1 home/2 " && pairs == "ppp");
  std::size_t members = 0;
  const Query home = std::move(Query("threshold=0.9").prefix("home/"));
  view.each_cluster(home, [&](const std::vector<std::string> &all) { members += all.size(); });
  CHECK(members == 2);
  CHECK(other.remove_prefix("home/") == 2 && other.size() == 1 && view.size() == 3);
  CHECK(!view.find("shop/2") && view.contains("home/2") && view.params().json()[0] == '{');
  Reader reader(path, kept);
  CHECK(reader.size() == 1 && !reader.refresh());
  CHECK(other.clear() == 1 && other.size() == 0);
  Index sets = Index::temporary(Params("shingles=items,threshold=0.5"));
  sets.insert("a", sets.sketch_items({"bread", "milk"}));
  CHECK(sets.similar_to(sets.sketch_items({"milk", "bread"}), Query()).matches.size() == 1);
  return 0;
}
