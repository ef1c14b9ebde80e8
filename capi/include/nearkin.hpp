// Nearkin for C++11 and later: handles that free themselves, exceptions, std::string. Header only;
// link libnearkin. Threads may share any object. See docs/guide/EMBEDDING.md.
#ifndef NEARKIN_HPP
#define NEARKIN_HPP

#include "nearkin.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nearkin {

// A failed call. `what()` is the message; `status()` is for the program, `advice()` for people.
class Error : public std::runtime_error {
 public:
  Error(nk_status status, const std::string &message)
      : std::runtime_error(message), status_(status) {}
  nk_status status() const { return status_; }
  const char *advice() const { return nk_status_advice(status_); }

 private:
  nk_status status_;
};

namespace detail {

struct Free {
  void operator()(void *handle) const { nk_free(handle); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// Calls a function of the header, with its last argument added; throws what went wrong.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  nk_error *error = nullptr;
  const nk_status status = function(arguments..., &error);
  if (status == NK_OK) return;
  const Owned<nk_error> owned(error);
  throw Error(status, error != nullptr ? nk_error_message(error) : nk_status_name(status));
}

// Calls a function whose last argument but the error is its one result, and returns the result.
template <typename Result, typename Function, typename... Arguments>
Result result(Function function, Arguments... arguments) {
  Result result = Result();
  call(function, arguments..., &result);
  return result;
}

// Calls `each` with every item of an iterator, and frees the iterator.
template <typename Item, typename Iterator, typename Next, typename Each>
void walk(Iterator *iterator, Next next, Each each) {
  const Owned<Iterator> owned(iterator);
  Item item = Item();
  bool has_item = false;
  for (call(next, iterator, &item, &has_item); has_item;
       call(next, iterator, &item, &has_item)) {
    each(item);
  }
}

inline std::string string_of(const nk_bytes &bytes) {
  return bytes.len == 0 ? std::string()
                        : std::string(static_cast<const char *>(bytes.data), bytes.len);
}

inline std::string take(nk_text *text) {
  const Owned<nk_text> owned(text);
  return nk_text_get(text);
}

// Functions of the program. An exception may not cross the library: it ends the program.
typedef std::function<bool(const std::string &key, const std::string &payload)> Filter;

inline int filter(void *data, const void *key, std::size_t key_len, const void *payload,
                  std::size_t payload_len) noexcept {
  const nk_bytes key_bytes = {key, key_len}, payload_bytes = {payload, payload_len};
  return (*static_cast<Filter *>(data))(string_of(key_bytes), string_of(payload_bytes)) ? 1 : 0;
}

typedef std::function<void(nk_event_kind kind, const std::string &message, const std::string &json)>
    Listener;

inline void tell(void *data, const nk_event *event) noexcept {
  (*static_cast<Listener *>(data))(event->kind, string_of(event->message), string_of(event->json));
}

typedef std::function<bool()> Cancel;

inline int cancel(void *data) noexcept { return (*static_cast<Cancel *>(data))() ? 1 : 0; }

template <typename T>
void release(void *data) noexcept {
  delete static_cast<T *>(data);
}

}  // namespace detail

using detail::Filter;
using detail::Listener;

// The parameters of an index: Params("threshold=0.7,shingles=words:3").
class Params {
 public:
  explicit Params(const std::string &settings)
      : owned_(detail::result<nk_params *>(&nk_params_from_text, settings.data(),
                                           settings.size())) {}
  explicit Params(nk_params *params) : owned_(params) {}
  std::string json() const {
    return detail::take(detail::result<nk_text *>(&nk_params_json, get()));
  }
  const nk_params *get() const { return owned_.get(); }

 private:
  detail::Owned<nk_params> owned_;
};

// Options of one opening: Options("durability=os"). By default, an index has none set.
class Options {
 public:
  Options() : is_given_(false) {}
  explicit Options(const std::string &settings) : is_given_(true) { make(settings); }
  // The listener receives the events of the indexes that are opened with these options. It must not
  // throw, nor close an index; it may be called by any thread, one call at a time.
  Options &on_event(Listener listener) {
    if (!is_given_) make("");
    is_given_ = true;
    std::unique_ptr<Listener> owned(new Listener(std::move(listener)));
    detail::call(&nk_options_on_event, get(), &detail::tell, static_cast<void *>(owned.get()),
                 &detail::release<Listener>);
    owned.release();
    return *this;
  }
  // Throws if these options were moved elsewhere.
  const nk_options *get() const {
    if (is_given_ && !owned_) throw Error(NK_BAD_HANDLE, "options that were moved elsewhere");
    return owned_.get();
  }

 private:
  void make(const std::string &settings) {
    owned_.reset(
        detail::result<nk_options *>(&nk_options_from_text, settings.data(), settings.size()));
  }
  bool is_given_;
  detail::Owned<nk_options> owned_;
};

class Signature {
 public:
  explicit Signature(nk_signature *signature) : owned_(signature) {}
  std::string bytes() const {
    nk_bytes data = {nullptr, 0};
    detail::call(&nk_signature_get, get(), &data, static_cast<uint32_t *>(nullptr));
    return detail::string_of(data);
  }
  uint32_t shingles() const {
    return detail::result<uint32_t>(&nk_signature_get, get(), static_cast<nk_bytes *>(nullptr));
  }
  const nk_signature *get() const { return owned_.get(); }

 private:
  detail::Owned<nk_signature> owned_;
};

struct Match {
  std::string key, payload;
  uint64_t time;
  double similarity, standard_error, containment;
};

struct Answer {
  std::vector<Match> matches;
  uint64_t found, change;
  double threshold;
  bool complete;
};

struct Pair {
  std::string a, b;
  double similarity, containment;
};

struct Document {
  std::string key, payload;
  uint64_t time;
};

struct Admission {
  nk_decision decision;
  std::vector<Match> duplicates, related;
};

namespace detail {
inline std::vector<Match> matches_of(const nk_match *matches, std::size_t len) {
  std::vector<Match> copied;
  copied.reserve(len);
  for (std::size_t at = 0; at < len; ++at) {
    const nk_match &found = matches[at];
    const Match match = {string_of(found.key), string_of(found.payload), found.time,
                         found.similarity,     found.standard_error,     found.containment};
    copied.push_back(match);
  }
  return copied;
}
}  // namespace detail

// The conditions of queries, pairs, clusters and admissions: Query("threshold=0.8,limit=10"), with
// the settings of nk_query_from_text. Used for any number of them. By default, none are set.
class Query {
 public:
  explicit Query(const std::string &settings = std::string())
      : owned_(
            detail::result<nk_query *>(&nk_query_from_text, settings.data(), settings.size())) {}
  Query &prefix(const std::string &prefix) {
    detail::call(&nk_query_prefix, get(), prefix.data(), prefix.size());
    return *this;
  }
  // The filter must not throw, and may be called by several threads at once. An empty one, such as
  // filter(nullptr), removes the filter.
  Query &filter(Filter filter) {
    if (!filter) {
      detail::call(&nk_query_filter, get(), static_cast<nk_filter>(nullptr),
                   static_cast<void *>(nullptr), static_cast<nk_release>(nullptr));
      return *this;
    }
    std::unique_ptr<Filter> owned(new Filter(std::move(filter)));
    detail::call(&nk_query_filter, get(), &detail::filter, static_cast<void *>(owned.get()),
                 &detail::release<Filter>);
    owned.release();
    return *this;
  }
  // Ends calls early, as soon as `cancel` returns true. It must not throw, should only read a flag,
  // and may be called by several threads at once. An empty one removes the condition.
  Query &cancel_if(std::function<bool()> cancel) {
    if (!cancel) {
      detail::call(&nk_query_cancel_if, get(), static_cast<nk_cancel>(nullptr),
                   static_cast<void *>(nullptr), static_cast<nk_release>(nullptr));
      return *this;
    }
    std::unique_ptr<detail::Cancel> owned(new detail::Cancel(std::move(cancel)));
    detail::call(&nk_query_cancel_if, get(), &detail::cancel, static_cast<void *>(owned.get()),
                 &detail::release<detail::Cancel>);
    owned.release();
    return *this;
  }
  // Throws if these conditions were moved elsewhere: without them, everything would match.
  const nk_query *get() const {
    if (!owned_) throw Error(NK_BAD_HANDLE, "a query that was moved elsewhere");
    return owned_.get();
  }

 private:
  detail::Owned<nk_query> owned_;
};

// What an index, a reader and a snapshot can do. Only stats() and backup() need an index or a reader.
template <typename T>
class Readable {
 public:
  explicit Readable(T *handle) : owned_(handle) {}

  Signature sketch(const std::string &text) const {
    return Signature(
        detail::result<nk_signature *>(&nk_sketch_text, read(), text.data(), text.size()));
  }
  Signature sketch_items(const std::vector<std::string> &items) const {
    std::vector<nk_bytes> lent;
    for (const std::string &item : items) lent.push_back(nk_bytes{item.data(), item.size()});
    const nk_bytes *first = lent.data();
    return Signature(
        detail::result<nk_signature *>(&nk_sketch_items, read(), first, lent.size()));
  }
  uint64_t size() const {
    uint64_t documents = 0;
    detail::call(&nk_count, read(), &documents, static_cast<uint64_t *>(nullptr));
    return documents;
  }
  bool contains(const std::string &key) const {
    return detail::result<bool>(&nk_contains, read(), key.data(), key.size());
  }
  // The document with this key; null if there is none.
  std::unique_ptr<Document> find(const std::string &key) const {
    const detail::Owned<nk_document> owned(
        detail::result<nk_document *>(&nk_get, read(), key.data(), key.size()));
    if (!owned) return nullptr;
    const nk_document_view view = detail::result<nk_document_view>(&nk_document_get, owned.get());
    return std::unique_ptr<Document>(new Document{
        detail::string_of(view.key), detail::string_of(view.payload), view.time});
  }
  Answer similar_to(const std::string &text, const Query &query) const {
    return answer_of(query, &nk_find_text, text.data(), text.size());
  }
  Answer similar_to(const Signature &signature, const Query &query) const {
    return answer_of(query, &nk_find_signature, signature.get());
  }
  Answer similar_to_key(const std::string &key, const Query &query) const {
    return answer_of(query, &nk_find_key, key.data(), key.size());
  }
  // Calls `each` with every key that begins with a prefix, in order.
  void each_key(const std::string &prefix,
                const std::function<void(const std::string &)> &each) const {
    detail::walk<nk_bytes>(
        detail::result<nk_keys *>(&nk_keys_begin, read(), prefix.data(), prefix.size()),
        &nk_keys_next, [&each](const nk_bytes &key) { each(detail::string_of(key)); });
  }
  // Calls `each` with every pair, while they are found.
  void each_pair(const Query &query, const std::function<void(const Pair &)> &each) const {
    detail::walk<nk_pair>(
        detail::result<nk_pairs *>(&nk_pairs_begin, read(), query.get()), &nk_pairs_next,
        [&each](const nk_pair &pair) {
          each(Pair{detail::string_of(pair.a), detail::string_of(pair.b), pair.similarity,
                    pair.containment});
        });
  }
  // Calls `each` with the keys of every cluster.
  void each_cluster(const Query &query,
                    const std::function<void(const std::vector<std::string> &)> &each) const {
    detail::walk<nk_cluster>(
        detail::result<nk_clusters *>(&nk_clusters_begin, read(), query.get()), &nk_clusters_next,
        [&each](const nk_cluster &cluster) {
          std::vector<std::string> keys;
          for (std::size_t at = 0; at < cluster.len; ++at) {
            keys.push_back(detail::string_of(cluster.keys[at]));
          }
          each(keys);
        });
  }
  Readable<nk_snapshot> snapshot() const {
    return Readable<nk_snapshot>(detail::result<nk_snapshot *>(&nk_snapshot_take, read()));
  }
  Params params() const {
    return Params(detail::result<nk_params *>(&nk_params_of, read()));
  }
  std::string stats() const {
    return detail::take(detail::result<nk_text *>(&nk_stats_json, read()));
  }
  // The damage as JSON; empty if there is none.
  std::string verify() const {
    bool is_intact = false;
    nk_text *report = nullptr;
    detail::call(&nk_verify, read(), &is_intact, &report);
    const std::string found = detail::take(report);
    return is_intact ? std::string() : found;
  }
  void backup(const std::string &path) const {
    detail::call(&nk_backup, read(), path.data(), path.size());
  }

 protected:
  const nk_readable *read() const {
    return static_cast<const nk_readable *>(static_cast<const void *>(owned_.get()));
  }
  detail::Owned<T> owned_;

 private:
  template <typename Find, typename... Arguments>
  Answer answer_of(const Query &query, Find find, Arguments... arguments) const {
    nk_answer *answer = nullptr;
    const nk_answer_view view =
        detail::result<nk_answer_view>(find, read(), arguments..., query.get(), &answer);
    const detail::Owned<nk_answer> owned(answer);
    return Answer{detail::matches_of(view.matches, view.matches_len), view.found, view.change,
                  view.threshold, view.complete};
  }
};

typedef Readable<nk_snapshot> Snapshot;

// An index opened for reading, beside a writer in any process.
class Reader : public Readable<nk_reader> {
 public:
  explicit Reader(const std::string &path, const Options &options = Options())
      : Readable<nk_reader>(detail::result<nk_reader *>(&nk_reader_open, path.data(), path.size(),
                                                        options.get())) {}
  bool refresh() { return detail::result<bool>(&nk_reader_refresh, owned_.get()); }
};

// An index. It is closed by close(), which tells errors, or by its destructor, which does not.
class Index : public Readable<nk_index> {
 public:
  static Index open_or_create(const std::string &path, const Params &params,
                              const Options &options = Options()) {
    return Index(detail::result<nk_index *>(&nk_index_open_or_create, path.data(), path.size(),
                                            params.get(), options.get()));
  }
  static bool exists(const std::string &path) {
    return detail::result<bool>(&nk_index_exists, path.data(), path.size());
  }
  static Index create(const std::string &path, const Params &params,
                      const Options &options = Options()) {
    return Index(detail::result<nk_index *>(&nk_index_create, path.data(), path.size(),
                                            params.get(), options.get()));
  }
  static Index open(const std::string &path, const Options &options = Options()) {
    return Index(
        detail::result<nk_index *>(&nk_index_open, path.data(), path.size(), options.get()));
  }
  static Index temporary(const Params &params, const Options &options = Options()) {
    return Index(
        detail::result<nk_index *>(&nk_index_temporary, params.get(), options.get()));
  }
  Index(Index &&) = default;
  // Closes the index that was here.
  Index &operator=(Index &&other) {
    if (this != &other) {
      if (owned_) nk_index_close(owned_.get(), nullptr);
      Readable<nk_index>::operator=(std::move(other));
    }
    return *this;
  }
  ~Index() {
    if (owned_) nk_index_close(owned_.get(), nullptr);
  }

  nk_outcome insert(const std::string &key, const Signature &signature) {
    return detail::result<nk_outcome>(&nk_index_insert, owned_.get(), key.data(), key.size(),
                                      signature.get(), nullptr, std::size_t(0));
  }
  nk_outcome insert(const std::string &key, const Signature &signature,
                    const std::string &payload) {
    return detail::result<nk_outcome>(&nk_index_insert, owned_.get(), key.data(), key.size(),
                                      signature.get(), payload.data(), payload.size());
  }
  nk_outcome set_payload(const std::string &key, const std::string &payload) {
    return detail::result<nk_outcome>(&nk_index_set_payload, owned_.get(), key.data(), key.size(),
                                      payload.data(), payload.size());
  }
  nk_outcome remove(const std::string &key) {
    return detail::result<nk_outcome>(&nk_index_remove, owned_.get(), key.data(), key.size());
  }
  // Removes every document, and returns their number.
  uint64_t clear() {
    return detail::result<uint64_t>(&nk_index_clear, owned_.get(), nk_cancel{}, nullptr);
  }
  // Removes the documents whose keys begin with `prefix`, which is not empty: their number.
  uint64_t remove_prefix(const std::string &prefix) {
    return detail::result<uint64_t>(&nk_index_remove_prefix, owned_.get(), prefix.data(),
                                    prefix.size());
  }
  // Removes what was inserted or last replaced before this time, in milliseconds since 1970.
  uint64_t remove_before(uint64_t time) {
    return detail::result<uint64_t>(&nk_index_remove_before, owned_.get(), time,
                                    static_cast<nk_cancel>(nullptr), static_cast<void *>(nullptr));
  }
  Admission admit(const std::string &key, const Signature &signature, const Query &query) {
    return admit(key, signature, nullptr, 0, query);
  }
  Admission admit(const std::string &key, const Signature &signature, const std::string &payload,
                  const Query &query) {
    return admit(key, signature, payload.data(), payload.size(), query);
  }
  // Writes a batch as one change, and empties it. One outcome per operation.
  std::vector<nk_outcome> write(class Batch &batch);
  // Does what maintenance is due: whether there was any.
  bool maintain() { return detail::result<bool>(&nk_index_maintain, owned_.get()); }
  void flush() { detail::call(&nk_index_flush, owned_.get()); }
  void compact() { detail::call(&nk_index_compact, owned_.get()); }
  // Ends early, with NK_CANCELLED, as soon as `cancel` returns true.
  void compact(std::function<bool()> cancel) {
    detail::call(&nk_index_compact_until, owned_.get(),
                 cancel ? &detail::cancel : static_cast<nk_cancel>(nullptr),
                 static_cast<void *>(&cancel));
  }
  bool refresh() { return detail::result<bool>(&nk_index_refresh, owned_.get()); }
  bool refresh_until(uint64_t change, uint64_t wait_ms) {
    return detail::result<bool>(&nk_index_refresh_until, owned_.get(), change, wait_ms);
  }
  void sync() { detail::call(&nk_index_sync, owned_.get(), static_cast<uint64_t *>(nullptr)); }
  void close() { detail::call(&nk_index_close, owned_.get()); }

 private:
  explicit Index(nk_index *index) : Readable<nk_index>(index) {}
  Admission admit(const std::string &key, const Signature &signature, const void *payload,
                  std::size_t payload_len, const Query &query) {
    const detail::Owned<nk_admission> owned(
        detail::result<nk_admission *>(&nk_index_admit, owned_.get(), key.data(), key.size(),
                                       signature.get(), payload, payload_len, query.get()));
    const nk_admission_view view =
        detail::result<nk_admission_view>(&nk_admission_get, owned.get());
    return Admission{view.decision, detail::matches_of(view.duplicates, view.duplicates_len),
                     detail::matches_of(view.related, view.related_len)};
  }
};

// Operations that are written together.
class Batch {
 public:
  Batch() : owned_(detail::result<nk_batch *>(&nk_batch_new)) {}
  Batch &insert(const std::string &key, const Signature &signature) {
    detail::call(&nk_batch_insert, owned_.get(), key.data(), key.size(), signature.get(), nullptr,
                 std::size_t(0), uint64_t(0));
    return *this;
  }
  // `time` is in milliseconds since 1970; 0 means the time of the write.
  Batch &insert(const std::string &key, const Signature &signature, const std::string &payload,
                uint64_t time = 0) {
    detail::call(&nk_batch_insert, owned_.get(), key.data(), key.size(), signature.get(),
                 payload.data(), payload.size(), time);
    return *this;
  }
  Batch &remove(const std::string &key) {
    detail::call(&nk_batch_remove, owned_.get(), key.data(), key.size());
    return *this;
  }
  void clear() { detail::call(&nk_batch_clear, owned_.get()); }
  std::size_t size() const {
    std::size_t operations = 0;
    detail::call(&nk_batch_size, owned_.get(), &operations, static_cast<std::size_t *>(nullptr));
    return operations;
  }
  const nk_batch *get() const { return owned_.get(); }

 private:
  detail::Owned<nk_batch> owned_;
};

inline std::vector<nk_outcome> Index::write(Batch &batch) {
  std::vector<nk_outcome> outcomes(batch.size());
  detail::call(&nk_index_write, owned_.get(), batch.get(), outcomes.data(), outcomes.size(),
               static_cast<uint64_t *>(nullptr));
  batch.clear();
  return outcomes;
}

}  // namespace nearkin

#endif
