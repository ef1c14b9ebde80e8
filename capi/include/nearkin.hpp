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
  explicit Params(const std::string &settings) {
    nk_params *params = nullptr;
    detail::call(&nk_params_from_text, settings.data(), settings.size(), &params);
    owned_.reset(params);
  }
  explicit Params(nk_params *params) : owned_(params) {}
  std::string json() const {
    nk_text *json = nullptr;
    detail::call(&nk_params_json, get(), &json);
    return detail::take(json);
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
    nk_options *options = nullptr;
    detail::call(&nk_options_from_text, settings.data(), settings.size(), &options);
    owned_.reset(options);
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
    uint32_t shingles = 0;
    detail::call(&nk_signature_get, get(), static_cast<nk_bytes *>(nullptr), &shingles);
    return shingles;
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
  bool is_admitted;
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

// The conditions of queries and admissions: Query().threshold(0.8).limit(10). Used for any number
// of them.
class Query {
 public:
  Query() {
    nk_query *query = nullptr;
    detail::call(&nk_query_new, &query);
    owned_.reset(query);
  }
  Query &threshold(double least) { return set(NK_THRESHOLD, least); }
  Query &contained(double least) { return set(NK_CONTAINED, least); }
  Query &limit(std::size_t most) { return set(NK_LIMIT, static_cast<double>(most)); }
  Query &max_candidates(std::size_t most) {
    return set(NK_MAX_CANDIDATES, static_cast<double>(most));
  }
  Query &deadline_ms(uint64_t time) { return set(NK_DEADLINE_MS, static_cast<double>(time)); }
  // Only documents inserted or last replaced at a time or later, or before it, in ms since 1970.
  Query &after(uint64_t time) { return set(NK_AFTER, static_cast<double>(time)); }
  Query &before(uint64_t time) { return set(NK_BEFORE, static_cast<double>(time)); }
  // For admissions: what is told besides, and which document stays.
  Query &relate(double least) { return set(NK_RELATE, least); }
  Query &keep(nk_keep keep) { return set(NK_KEEP, static_cast<double>(keep)); }
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
  // Throws if these conditions were moved elsewhere: without them, everything would match.
  const nk_query *get() const {
    if (!owned_) throw Error(NK_BAD_HANDLE, "a query that was moved elsewhere");
    return owned_.get();
  }

 private:
  Query &set(nk_condition condition, double value) {
    detail::call(&nk_query_set, get(), static_cast<int32_t>(condition), value);
    return *this;
  }
  detail::Owned<nk_query> owned_;
};

// What an index, a reader and a snapshot can do. Only stats() and backup() need an index or a reader.
template <typename T>
class Readable {
 public:
  explicit Readable(T *handle) : owned_(handle) {}

  Signature sketch(const std::string &text) const {
    nk_signature *signature = nullptr;
    detail::call(&nk_sketch_text, read(), text.data(), text.size(), &signature);
    return Signature(signature);
  }
  Signature sketch_items(const std::vector<std::string> &items) const {
    std::vector<nk_bytes> lent;
    for (const std::string &item : items) lent.push_back(nk_bytes{item.data(), item.size()});
    nk_signature *signature = nullptr;
    detail::call(&nk_sketch_items, read(), static_cast<const nk_bytes *>(lent.data()), lent.size(),
                 &signature);
    return Signature(signature);
  }
  uint64_t size() const {
    uint64_t documents = 0;
    detail::call(&nk_count, read(), &documents, static_cast<uint64_t *>(nullptr));
    return documents;
  }
  bool contains(const std::string &key) const {
    bool is_there = false;
    detail::call(&nk_contains, read(), key.data(), key.size(), &is_there);
    return is_there;
  }
  // The document with this key; null if there is none.
  std::unique_ptr<Document> find(const std::string &key) const {
    nk_document *document = nullptr;
    detail::call(&nk_get, read(), key.data(), key.size(), &document);
    if (document == nullptr) return nullptr;
    const detail::Owned<nk_document> owned(document);
    nk_document_view view;
    detail::call(&nk_document_get, document, &view);
    return std::unique_ptr<Document>(new Document{
        detail::string_of(view.key), detail::string_of(view.payload), view.time});
  }
  Answer similar_to(const std::string &text, const Query &query) const {
    nk_answer *answer = nullptr;
    nk_answer_view view;
    detail::call(&nk_find_text, read(), text.data(), text.size(), query.get(), &answer, &view);
    return answer_of(answer, view);
  }
  Answer similar_to(const Signature &signature, const Query &query) const {
    nk_answer *answer = nullptr;
    nk_answer_view view;
    detail::call(&nk_find_signature, read(), signature.get(), query.get(), &answer, &view);
    return answer_of(answer, view);
  }
  Answer similar_to_key(const std::string &key, const Query &query) const {
    nk_answer *answer = nullptr;
    nk_answer_view view;
    detail::call(&nk_find_key, read(), key.data(), key.size(), query.get(), &answer, &view);
    return answer_of(answer, view);
  }
  // Calls `each` with every key that begins with a prefix, in order.
  void each_key(const std::string &prefix,
                const std::function<void(const std::string &)> &each) const {
    nk_keys *keys = nullptr;
    detail::call(&nk_keys_begin, read(), prefix.data(), prefix.size(), &keys);
    const detail::Owned<nk_keys> owned(keys);
    nk_bytes key = {nullptr, 0};
    bool has_key = false;
    for (detail::call(&nk_keys_next, keys, &key, &has_key); has_key;
         detail::call(&nk_keys_next, keys, &key, &has_key)) {
      each(detail::string_of(key));
    }
  }
  // Calls `each` with every pair, while they are found.
  void each_pair(double similarity, const std::function<void(const Pair &)> &each,
                 double contained = -1.0) const {
    nk_pairs *pairs = nullptr;
    detail::call(&nk_pairs_begin, read(), similarity, contained, &pairs);
    const detail::Owned<nk_pairs> owned(pairs);
    nk_pair pair;
    bool has_pair = false;
    for (detail::call(&nk_pairs_next, pairs, &pair, &has_pair); has_pair;
         detail::call(&nk_pairs_next, pairs, &pair, &has_pair)) {
      const Pair copied = {detail::string_of(pair.a), detail::string_of(pair.b), pair.similarity,
                           pair.containment};
      each(copied);
    }
  }
  // Calls `each` with the keys of every cluster.
  void each_cluster(double similarity,
                    const std::function<void(const std::vector<std::string> &)> &each,
                    double contained = -1.0) const {
    nk_clusters *clusters = nullptr;
    detail::call(&nk_clusters_begin, read(), similarity, contained, &clusters);
    const detail::Owned<nk_clusters> owned(clusters);
    nk_cluster cluster;
    bool has_cluster = false;
    for (detail::call(&nk_clusters_next, clusters, &cluster, &has_cluster); has_cluster;
         detail::call(&nk_clusters_next, clusters, &cluster, &has_cluster)) {
      std::vector<std::string> keys;
      for (std::size_t at = 0; at < cluster.len; ++at) {
        keys.push_back(detail::string_of(cluster.keys[at]));
      }
      each(keys);
    }
  }
  Readable<nk_snapshot> snapshot() const {
    nk_snapshot *snapshot = nullptr;
    detail::call(&nk_snapshot_take, read(), &snapshot);
    return Readable<nk_snapshot>(snapshot);
  }
  Params params() const {
    nk_params *params = nullptr;
    detail::call(&nk_params_of, read(), &params);
    return Params(params);
  }
  std::string stats() const {
    nk_text *json = nullptr;
    detail::call(&nk_stats_json, read(), &json);
    return detail::take(json);
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
  static Answer answer_of(nk_answer *answer, const nk_answer_view &view) {
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
      : Readable<nk_reader>(nullptr) {
    nk_reader *reader = nullptr;
    detail::call(&nk_reader_open, path.data(), path.size(), options.get(), &reader);
    owned_.reset(reader);
  }
  bool refresh() {
    bool is_later = false;
    detail::call(&nk_reader_refresh, owned_.get(), &is_later);
    return is_later;
  }
};

// An index. It is closed by close(), which tells errors, or by its destructor, which does not.
class Index : public Readable<nk_index> {
 public:
  static Index open_or_create(const std::string &path, const Params &params,
                              const Options &options = Options()) {
    nk_index *index = nullptr;
    detail::call(&nk_index_open_or_create, path.data(), path.size(), params.get(), options.get(),
                 &index);
    return Index(index);
  }
  static Index open(const std::string &path, const Options &options = Options()) {
    nk_index *index = nullptr;
    detail::call(&nk_index_open, path.data(), path.size(), options.get(), &index);
    return Index(index);
  }
  static Index temporary(const Params &params, const Options &options = Options()) {
    nk_index *index = nullptr;
    detail::call(&nk_index_temporary, params.get(), options.get(), &index);
    return Index(index);
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
    nk_outcome outcome = NK_OUTCOME_OTHER;
    detail::call(&nk_index_insert, owned_.get(), key.data(), key.size(), signature.get(), nullptr,
                 std::size_t(0), &outcome);
    return outcome;
  }
  nk_outcome insert(const std::string &key, const Signature &signature,
                    const std::string &payload) {
    nk_outcome outcome = NK_OUTCOME_OTHER;
    detail::call(&nk_index_insert, owned_.get(), key.data(), key.size(), signature.get(),
                 static_cast<const void *>(payload.data()), payload.size(), &outcome);
    return outcome;
  }
  nk_outcome set_payload(const std::string &key, const std::string &payload) {
    nk_outcome outcome = NK_OUTCOME_OTHER;
    detail::call(&nk_index_set_payload, owned_.get(), key.data(), key.size(),
                 static_cast<const void *>(payload.data()), payload.size(), &outcome);
    return outcome;
  }
  nk_outcome remove(const std::string &key) {
    nk_outcome outcome = NK_OUTCOME_OTHER;
    detail::call(&nk_index_remove, owned_.get(), key.data(), key.size(), &outcome);
    return outcome;
  }
  // Removes what has a key that begins with `prefix`: the number of documents.
  uint64_t remove_prefix(const std::string &prefix) {
    uint64_t removed = 0;
    detail::call(&nk_index_remove_prefix, owned_.get(), prefix.data(), prefix.size(), &removed);
    return removed;
  }
  Admission admit(const std::string &key, const Signature &signature, const Query &query) {
    return admit(key, signature, nullptr, 0, query);
  }
  Admission admit(const std::string &key, const Signature &signature, const std::string &payload,
                  const Query &query) {
    return admit(key, signature, payload.data(), payload.size(), query);
  }
  // Writes a batch as one change, and empties it.
  void write(class Batch &batch);
  void flush() { detail::call(&nk_index_flush, owned_.get()); }
  void compact() { detail::call(&nk_index_compact, owned_.get()); }
  void sync() { detail::call(&nk_index_sync, owned_.get(), static_cast<uint64_t *>(nullptr)); }
  void close() { detail::call(&nk_index_close, owned_.get()); }

 private:
  explicit Index(nk_index *index) : Readable<nk_index>(index) {}
  Admission admit(const std::string &key, const Signature &signature, const void *payload,
                  std::size_t payload_len, const Query &query) {
    nk_admission *admission = nullptr;
    detail::call(&nk_index_admit, owned_.get(), key.data(), key.size(), signature.get(), payload,
                 payload_len, query.get(), &admission);
    const detail::Owned<nk_admission> owned(admission);
    nk_admission_view view;
    detail::call(&nk_admission_get, admission, &view);
    return Admission{view.is_admitted, detail::matches_of(view.duplicates, view.duplicates_len),
                     detail::matches_of(view.related, view.related_len)};
  }
};

// Operations that are written together.
class Batch {
 public:
  Batch() {
    nk_batch *batch = nullptr;
    detail::call(&nk_batch_new, &batch);
    owned_.reset(batch);
  }
  Batch &insert(const std::string &key, const Signature &signature) {
    detail::call(&nk_batch_insert, owned_.get(), key.data(), key.size(), signature.get(), nullptr,
                 std::size_t(0), uint64_t(0));
    return *this;
  }
  // `time` is in milliseconds since 1970; 0 means the time of the write.
  Batch &insert(const std::string &key, const Signature &signature, const std::string &payload,
                uint64_t time = 0) {
    detail::call(&nk_batch_insert, owned_.get(), key.data(), key.size(), signature.get(),
                 static_cast<const void *>(payload.data()), payload.size(), time);
    return *this;
  }
  Batch &remove(const std::string &key) {
    detail::call(&nk_batch_remove, owned_.get(), key.data(), key.size());
    return *this;
  }
  void clear() { detail::call(&nk_batch_clear, owned_.get()); }
  const nk_batch *get() const { return owned_.get(); }

 private:
  detail::Owned<nk_batch> owned_;
};

inline void Index::write(Batch &batch) {
  detail::call(&nk_index_write, owned_.get(), batch.get(), static_cast<nk_outcome *>(nullptr),
               std::size_t(0), static_cast<uint64_t *>(nullptr));
  batch.clear();
}

}  // namespace nearkin

#endif
