// What nearkin.hpp adds to the functions of C: moves, and filters that are empty.
#include "nearkin.hpp"

#include <cstdio>

#define CHECK(condition)                                              \
  if (!(condition)) {                                                 \
    std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    return 1;                                                         \
  }

using namespace nearkin;

template <typename Work>
bool is_refused(Work work) {
  try {
    work();
  } catch (const Error &error) {
    return error.status() == NK_BAD_HANDLE;
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
  CHECK(is_refused([&] { query.limit(3); }));
  Options options("durability=os");
  const Options kept(std::move(options));
  CHECK(is_refused([&] { Index::open(path, options); }));

  // An empty filter is none.
  Query filtered;
  filtered.filter([](const std::string &, const std::string &) { return false; });
  CHECK(index.similar_to(signature, filtered).matches.empty());
  filtered.filter(nullptr);
  CHECK(index.similar_to(signature, filtered).matches.size() == 1);

  // An index over which another one is moved is closed: nothing is left to replay.
  index = Index::temporary(Params("threshold=0.7"));
  const Index again = Index::open(path, kept);
  CHECK(again.size() == 1);
  CHECK(again.stats().find("\"changes_replayed\":0") != std::string::npos);
  return 0;
}
