/*
 * Nearkin: an index of similar documents, embedded. See docs/guide/EMBEDDING.md.
 *
 * Handles. What a function makes is freed by nk_free, once. A handle that is null, freed or of
 * another kind is the error NK_BAD_HANDLE; for a filter, `of` and other arguments that say so, null
 * is allowed.
 *
 * Threads. Any thread may use any handle; no lock is needed. Callbacks may be called from any
 * thread, and may not throw.
 *
 * Errors. The last argument may be null, or lead to a variable, which receives an error if the call
 * fails, and stays as it is if the call succeeds. A failed call leaves its other results as they
 * were.
 *
 * The caller answers for: a pointer with a length leads to that many readable bytes during the
 * call; a pointer to a result is null or leads to a variable of its type; no two results are the
 * same variable. Nothing else of the caller's can make the library's behaviour undefined.
 */

#ifndef NEARKIN_H
#define NEARKIN_H

/* Made by cbindgen from capi/src: change the sources, not this file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The outcome of a call. The numbers never change.
typedef enum {
  // The call succeeded.
  NK_OK = 0,
  // An argument is out of range, null, or not UTF-8. Nothing was written.
  NK_INVALID = 1,
  // The text is blank, or the set has no items: there is nothing to compare.
  NK_EMPTY = 2,
  // There is no index at this path.
  NK_NOT_FOUND = 3,
  // No document has this key.
  NK_NO_SUCH_KEY = 4,
  // There is already an index at this path; or, in an admission with conditions, the newcomer's
  // key belongs to a document that does not count.
  NK_EXISTS = 5,
  // The parameters of the index differ from the given ones, or from those of a signature.
  NK_MISMATCH = 6,
  // Another handle or process is writing to this index.
  NK_LOCKED = 7,
  // The index changed repeatedly during the call.
  NK_UNSETTLED = 8,
  // A newer version wrote the files, or the file system has no memory maps.
  NK_UNSUPPORTED = 9,
  // Stored data are damaged.
  NK_CORRUPT = 10,
  // The operating system reported an error. Nothing was written.
  NK_IO = 11,
  // A sync failed: after a power cut, the index may or may not contain the change.
  NK_UNKNOWN = 12,
  // An earlier sync failed: the handle refuses all writes.
  NK_POISONED = 13,
  // The index was closed, its folder was replaced, or the process was forked.
  NK_CLOSED = 14,
  // A deadline or a callback ended the call, which changed nothing.
  NK_CANCELLED = 15,
  // Another error of the engine: see the message.
  NK_OTHER = 16,
  // A handle is null, was freed, or is of another kind.
  NK_BAD_HANDLE = 17,
  // A defect of Nearkin, caught at the boundary. Please report the message.
  NK_BUG = 18,
} nk_status;

// Whether a newcomer was admitted: all but `NK_REJECTED`, which is 0, say that it is stored now.
typedef enum {
  // A duplicate is stored: nothing was written.
  NK_REJECTED = 0,
  // Admitted under a new key.
  NK_ADMITTED = 1,
  // Admitted, and the key had another document.
  NK_ADMITTED_REPLACED = 2,
  // Admitted, and the key had the same document: nothing was written.
  NK_ADMITTED_UNCHANGED = 3,
} nk_decision;

// The outcome of a write for one document. Later versions may add numbers.
typedef enum {
  // The key was new.
  NK_INSERTED = 1,
  // The key had another signature or payload.
  NK_REPLACED = 2,
  // The key had the same signature and payload: nothing was written.
  NK_UNCHANGED = 3,
  // The document was removed.
  NK_REMOVED = 4,
  // No document has the key: nothing was written.
  NK_MISSING = 5,
  // A later operation of the same batch has the same key; its outcome covers both.
  NK_SUPERSEDED = 6,
  // An outcome that this header does not know.
  NK_OUTCOME_OTHER = 7,
} nk_outcome;

// The kind of an event. Later versions may add numbers.
typedef enum {
  // An event that this header does not know.
  NK_EVENT_OTHER = 0,
  // Opening recovered from an unclean end.
  NK_EVENT_RECOVERED = 1,
  // A flush wrote the memtable to a segment.
  NK_EVENT_FLUSHED = 2,
  // A compaction has started.
  NK_EVENT_COMPACTION_BEGUN = 3,
  // A compaction has succeeded.
  NK_EVENT_COMPACTED = 4,
  // Documents older than `ttl_ms` were removed.
  NK_EVENT_EXPIRED = 5,
  // A step of maintenance failed and will be retried.
  NK_EVENT_MAINTENANCE_FAILED = 6,
  // A write waited more than 50 ms for others.
  NK_EVENT_WRITER_STALLED = 7,
  // A sync failed: the handle refuses all further writes.
  NK_EVENT_POISONED = 8,
  // The handle is no longer the only writer of the index.
  NK_EVENT_LOCK_LOST = 9,
} nk_event_kind;

// The result of an admission.
typedef struct nk_admission nk_admission;

// The answer of a query.
typedef struct nk_answer nk_answer;

// Operations that are written together, by `nk_index_write`. A batch is locked during a call.
typedef struct nk_batch nk_batch;

// The clusters of an index. Locked during a call.
typedef struct nk_clusters nk_clusters;

// A stored document.
typedef struct nk_document nk_document;

// An error: its status, message and advice.
typedef struct nk_error nk_error;

// An open index, the one writer of its folder. Threads share it.
typedef struct nk_index nk_index;

// The keys of an index, in order. Locked during a call.
typedef struct nk_keys nk_keys;

// Options of an open index. An index copies them when it is opened.
typedef struct nk_options nk_options;

// The pairs of an index. Locked during a call.
typedef struct nk_pairs nk_pairs;

// The parameters of an index: which signature a text gets, and which documents are compared.
// Chosen once. Immutable.
typedef struct nk_params nk_params;

// The conditions of queries, pairs, clusters and admissions: made once, used for any number of
// calls. A null handle means: the threshold of the index, no limit, all documents.
typedef struct nk_query nk_query;

// An index, a reader or a snapshot: the argument of functions that read. `NK_READ` converts a
// handle to this type; the handle stays the same, and is freed once.
typedef struct nk_readable nk_readable;

// An index opened for reading, beside a writer in any process.
typedef struct nk_reader nk_reader;

// The signature of a text or a set. Immutable.
typedef struct nk_signature nk_signature;

// Makes signatures. Immutable: threads share it.
typedef struct nk_sketcher nk_sketcher;

// An unchanging view of an index.
typedef struct nk_snapshot nk_snapshot;

// A text that the library made, such as JSON.
typedef struct nk_text nk_text;

// Bytes. In a result they belong to a handle, in an argument to the caller.
typedef struct {
  // The first byte. Null is allowed if `len` is 0.
  const void *data;
  // The number of bytes.
  size_t len;
} nk_bytes;

// Gives the text of a stored document, by its key: any number but 0, and `text`, which is read
// before the next call; 0 if it cannot be had. It is called without a lock, on the thread of the
// admission, and may use the library, but must not throw.
typedef int (*nk_fetch)(void *user_data,
                        const void *key,
                        size_t key_len,
                        nk_bytes *text);

// A similar document. Its bytes belong to the answer or the admission.
typedef struct {
  // The document's key.
  nk_bytes key;
  // The caller's bytes with it.
  nk_bytes payload;
  // When it was inserted or last replaced, in milliseconds since 1970.
  uint64_t time;
  // The estimated similarity (Jaccard), from 0 to 1.
  double similarity;
  // The standard error of that estimate.
  double standard_error;
  // The estimated share of the smaller document that is in the larger one; NaN unless the query
  // has the condition `contained`.
  double containment;
  // The number of equal rows of the two signatures, by which matches are ordered.
  uint32_t equal_rows;
} nk_match;

// The fields of an admission. The matches belong to the admission, and are in the order of an
// answer.
typedef struct {
  // The stored documents that caused the rejection, or that the admitted newcomer replaced.
  const nk_match *duplicates;
  // The number of duplicates.
  size_t duplicates_len;
  // The related documents of an admitted newcomer.
  const nk_match *related;
  // The number of related documents.
  size_t related_len;
  // The number of the last change that the decision takes into account.
  uint64_t change;
  // What was decided.
  nk_decision decision;
  // Whether the newcomer was compared with all candidates, and all texts could be had.
  bool complete;
} nk_admission_view;

// The fields of an answer.
typedef struct {
  // The matches, most similar first, ties by key. They belong to the answer.
  const nk_match *matches;
  // The number of matches, at most the limit.
  size_t matches_len;
  // The number of documents that reach the threshold, regardless of the limit.
  uint64_t found;
  // The threshold of the query.
  double threshold;
  // The number of the last change that the answer takes into account.
  uint64_t change;
  // Whether the query ran to its end. False if a deadline or the bound of candidates stopped it:
  // matches may be missing.
  bool complete;
} nk_answer_view;

// Says whether a call is to end now: any number but 0 means yes. It is asked often, also by
// several threads at once, so it should only read a flag, which a signal handler or another thread
// sets. It must not throw.
typedef int (*nk_cancel)(void *user_data);

// An event. The struct and its bytes are valid until the listener returns.
typedef struct {
  // Which event it is.
  nk_event_kind kind;
  // One line for a log, in UTF-8.
  nk_bytes message;
  // All fields of the event, as JSON.
  nk_bytes json;
} nk_event;

// Receives the events of an index, one at a time, on a thread that calls the index or on the
// maintenance thread, which waits until it returns. It may call the index, but must not throw.
// Closing and compacting the index there would wait for the listener itself: `NK_INVALID`.
typedef void (*nk_listener)(void *user_data,
                            const nk_event *event);

// Called once with the data of a callback, after the last call of that callback. May be null.
typedef void (*nk_release)(void *user_data);

// Decides by key and payload whether a stored document counts: any number but 0 means yes. Several
// threads may call it at once. It may call the library, but must not throw.
typedef int (*nk_filter)(void *user_data,
                         const void *key,
                         size_t key_len,
                         const void *payload,
                         size_t payload_len);

// The fields of a document. The bytes belong to the document handle.
typedef struct {
  // Its key.
  nk_bytes key;
  // The caller's bytes with it.
  nk_bytes payload;
  // When it was inserted or last replaced, in milliseconds since 1970.
  uint64_t time;
} nk_document_view;

// Two similar documents. The keys belong to the iterator, and are valid until the next call.
typedef struct {
  // The smaller key.
  nk_bytes a;
  // The larger key.
  nk_bytes b;
  // The estimated similarity.
  double similarity;
  // The estimated share of the smaller document that is in the larger one; NaN without
  // the condition `contained`.
  double containment;
  // The number of equal rows.
  uint32_t equal_rows;
} nk_pair;

// Documents that are linked by pairs. The arrays belong to the iterator, and are valid until the
// next call.
typedef struct {
  // The keys, in order.
  const nk_bytes *keys;
  // When each document was inserted or last replaced, in milliseconds since 1970.
  const uint64_t *times;
  // The number of documents.
  size_t len;
} nk_cluster;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0". Static; never null.
const char *nk_version(void);

// Frees a handle of any kind, once; a null handle does nothing. Pointers into its results become
// invalid. The call does not wait: a call that still uses the handle on another thread completes,
// and drops the object. `NK_BAD_HANDLE` if the handle was freed before, or is no handle.
//
// An index that was not closed loses no acknowledged write, but its next open replays the log:
// call `nk_index_close` first.
nk_status nk_free(void *handle);

// The number of live handles of all threads. A test that expects 0 at its end finds leaks.
size_t nk_handles_live(void);

// Inserts a document unless a stored one of another key is too similar: one atomic step, also
// among threads. `payload` may be null: a stored one is kept then. `query` (may be null) has the
// conditions for a duplicate; the default threshold is that of the index. Free the admission.
// Errors: those of `nk_index_insert`; `NK_INVALID` if the conditions contradict each other;
// `NK_EXISTS` if the newcomer's key belongs to a document that does not count; `NK_CANCELLED`.
nk_status nk_index_admit(const nk_index *index,
                         const void *key,
                         size_t key_len,
                         const nk_signature *signature,
                         const void *payload_data,
                         size_t payload_len,
                         const nk_query *query,
                         nk_admission **admission,
                         nk_error **error);

// Like `nk_index_admit`, for a text, and decides by comparing the texts themselves: `fetch` gives
// those of stored documents that may be duplicates. One whose text cannot be had, is not UTF-8, or
// is not the one that was indexed does not count, and `complete` is false then. Errors: those of
// `nk_index_admit`; `NK_EMPTY`.
nk_status nk_index_admit_text(const nk_index *index,
                              const void *key,
                              size_t key_len,
                              const char *text_data,
                              size_t text_len,
                              const void *payload_data,
                              size_t payload_len,
                              const nk_query *query,
                              nk_fetch fetch,
                              void *user_data,
                              nk_admission **admission,
                              nk_error **error);

// Gives the fields of an admission.
nk_status nk_admission_get(const nk_admission *admission,
                           nk_admission_view *view,
                           nk_error **error);

// Makes an empty batch. Free it.
nk_status nk_batch_new(nk_batch **batch,
                       nk_error **error);

// Adds an insert. `payload` (up to 64 KiB) may be null: then a stored payload is kept. `time` is
// in milliseconds since 1970; 0 means the time of the write. Keys and sizes are checked by
// `nk_index_write`.
nk_status nk_batch_insert(const nk_batch *batch,
                          const void *key,
                          size_t key_len,
                          const nk_signature *signature,
                          const void *payload_data,
                          size_t payload_len,
                          uint64_t time,
                          nk_error **error);

// Adds a change of the payload of a stored document.
nk_status nk_batch_set_payload(const nk_batch *batch,
                               const void *key,
                               size_t key_len,
                               const void *payload,
                               size_t payload_len,
                               nk_error **error);

// Adds a removal.
nk_status nk_batch_remove(const nk_batch *batch,
                          const void *key,
                          size_t key_len,
                          nk_error **error);

// Empties a batch, and keeps its memory for the next operations.
nk_status nk_batch_clear(const nk_batch *batch,
                         nk_error **error);

// The number of operations of a batch, and its length in bytes of the log. Either result may be
// null.
nk_status nk_batch_size(const nk_batch *batch,
                        size_t *operations,
                        size_t *log_bytes,
                        nk_error **error);

// The status of an error; `NK_BAD_HANDLE` if `error` is no error handle.
nk_status nk_error_status(const nk_error *error);

// The message of an error: what happened, to which file. UTF-8 that ends with a zero byte, owned
// by the error; for a handle that is no error, a static text. Never null.
const char *nk_error_message(const nk_error *error);

// Finds the documents similar to a text in UTF-8. `query` may be null. Free the answer; `shown`
// (may be null) receives what `nk_answer_get` gives. Errors: `NK_EMPTY` if the text is blank;
// `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_find_text(const nk_readable *of,
                       const char *text_data,
                       size_t text_len,
                       const nk_query *query,
                       nk_answer **answer,
                       nk_answer_view *shown,
                       nk_error **error);

// Finds the documents similar to a signature. `query` may be null. Free the answer; `shown` (may
// be null) receives what `nk_answer_get` gives. Errors: `NK_MISMATCH` if the signature has other
// parameters; `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_find_signature(const nk_readable *of,
                            const nk_signature *signature,
                            const nk_query *query,
                            nk_answer **answer,
                            nk_answer_view *shown,
                            nk_error **error);

// Finds the documents similar to the stored one with this key, which is not in the answer itself.
// `query` may be null. Free the answer; `shown` (may be null) receives what `nk_answer_get` gives.
// Errors: `NK_NO_SUCH_KEY`; `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_find_key(const nk_readable *of,
                      const void *key,
                      size_t key_len,
                      const nk_query *query,
                      nk_answer **answer,
                      nk_answer_view *shown,
                      nk_error **error);

// Whether there is an index in the folder `path`. Errors: `NK_INVALID` if it has other content.
nk_status nk_index_exists(const char *path_data,
                          size_t path_len,
                          bool *is_there,
                          nk_error **error);

// Creates an empty index in the folder `path` and opens it. `options` may be null. Errors:
// `NK_EXISTS`, `NK_LOCKED`, `NK_IO`; `NK_INVALID` if the folder has other content.
nk_status nk_index_create(const char *path_data,
                          size_t path_len,
                          const nk_params *params,
                          const nk_options *options,
                          nk_index **index,
                          nk_error **error);

// Opens an index for reading and writing. `options` may be null. Errors: `NK_NOT_FOUND`,
// `NK_LOCKED`, `NK_CORRUPT`, `NK_UNSUPPORTED`, `NK_IO`.
nk_status nk_index_open(const char *path_data,
                        size_t path_len,
                        const nk_options *options,
                        nk_index **index,
                        nk_error **error);

// Opens an index, or creates it if there is none. Errors: those of both, and `NK_MISMATCH` if the
// index has other parameters.
nk_status nk_index_open_or_create(const char *path_data,
                                  size_t path_len,
                                  const nk_params *params,
                                  const nk_options *options,
                                  nk_index **index,
                                  nk_error **error);

// Creates an empty index in memory. It is gone when its handles are freed.
nk_status nk_index_temporary(const nk_params *params,
                             const nk_options *options,
                             nk_index **index,
                             nk_error **error);

// Closes an index: waits for running calls, flushes, and releases the folder, so that another
// process may open it. The handle stays; calls through it fail with `NK_CLOSED` until it is freed.
// Snapshots and answers keep working. A second close does nothing. Errors: those of
// `nk_index_flush`; `NK_INVALID`, and the index stays open, in a listener of the index and in the
// callback of a compaction, for whose end this call would wait. Within a filter it may be called.
nk_status nk_index_close(const nk_index *index,
                         nk_error **error);

// Inserts a document, or replaces the one with this key (1 to 4,096 bytes). `payload` (up to 64
// KiB) replaces a stored one; null keeps it. After `NK_OK` the document survives a power cut (see
// durability in `nk_options_from_text`), and queries see it. `outcome` may be null. Errors:
// `NK_MISMATCH` if the signature has other parameters, `NK_IO`, `NK_UNKNOWN`, `NK_POISONED`,
// `NK_CLOSED`.
nk_status nk_index_insert(const nk_index *index,
                          const void *key,
                          size_t key_len,
                          const nk_signature *signature,
                          const void *payload_data,
                          size_t payload_len,
                          nk_outcome *outcome,
                          nk_error **error);

// Replaces the payload of a stored document. The outcome is `NK_MISSING` if no document has this
// key. Errors: those of `nk_index_insert`.
nk_status nk_index_set_payload(const nk_index *index,
                               const void *key,
                               size_t key_len,
                               const void *payload,
                               size_t payload_len,
                               nk_outcome *outcome,
                               nk_error **error);

// Removes the document with this key. The outcome is `NK_REMOVED` or `NK_MISSING`. Errors: those
// of `nk_index_insert`.
nk_status nk_index_remove(const nk_index *index,
                          const void *key,
                          size_t key_len,
                          nk_outcome *outcome,
                          nk_error **error);

// Removes all documents whose keys begin with a prefix. `removed` (may be null) is their number.
// Errors: `NK_INVALID` if the prefix is empty (`nk_index_clear` removes all), and those of
// `nk_index_insert`; after one of these, a part may be removed.
nk_status nk_index_remove_prefix(const nk_index *index,
                                 const void *prefix,
                                 size_t prefix_len,
                                 uint64_t *removed,
                                 nk_error **error);

// Like `nk_index_remove_prefix`, and ends early if `cancel`, which may be null, says so: the error
// is `NK_CANCELLED` then, and what was removed before stays removed. `cancel` is not called after
// the call.
nk_status nk_index_remove_prefix_until(const nk_index *index,
                                       const void *prefix,
                                       size_t prefix_len,
                                       nk_cancel cancel,
                                       void *user_data,
                                       uint64_t *removed,
                                       nk_error **error);

// Removes all documents that were inserted or last replaced before `time`, in milliseconds since
// 1970. `removed` (may be null) is their number. Ends early as `nk_index_remove_prefix_until`.
// Errors: those of `nk_index_remove_prefix_until`.
nk_status nk_index_remove_before(const nk_index *index,
                                 uint64_t time,
                                 nk_cancel cancel,
                                 void *user_data,
                                 uint64_t *removed,
                                 nk_error **error);

// Removes all documents, as `nk_index_remove_prefix_until` removes those with a prefix.
nk_status nk_index_clear(const nk_index *index,
                         nk_cancel cancel,
                         void *user_data,
                         uint64_t *removed,
                         nk_error **error);

// Writes a batch as one change: all of it or nothing, with one sync. The batch is not changed.
// `outcomes` receives the outcomes of the first `outcomes_len` operations, in order; `change` the
// number of the change. Both may be null. Errors: those of `nk_index_insert`.
nk_status nk_index_write(const nk_index *index,
                         const nk_batch *batch,
                         nk_outcome *outcomes,
                         size_t outcomes_len,
                         uint64_t *change,
                         nk_error **error);

// Makes all writes before the call durable, whatever the durability of the index. `change` (may be
// null) is the number of the last durable change. Errors: `NK_UNKNOWN`, `NK_POISONED`,
// `NK_CLOSED`, `NK_IO`.
nk_status nk_index_sync(const nk_index *index,
                        uint64_t *change,
                        nk_error **error);

// Sees what other processes have written through handles with `shared`; `is_later` (may be null)
// says whether there was anything new. Errors: those of `nk_reader_refresh`; the handle keeps its
// state.
nk_status nk_index_refresh(const nk_index *index,
                           bool *is_later,
                           nk_error **error);

// Refreshes until the change of this number is visible, for at most `wait_ms` milliseconds;
// `is_visible` (may be null) says whether it is. Errors: those of `nk_index_refresh`.
nk_status nk_index_refresh_until(const nk_index *index,
                                 uint64_t change,
                                 uint64_t wait_ms,
                                 bool *is_visible,
                                 nk_error **error);

// Writes the memtable to a segment now. Blocks writers, not readers. Errors: `NK_IO`,
// `NK_CORRUPT`, `NK_UNKNOWN`, `NK_POISONED`, `NK_CLOSED`.
nk_status nk_index_flush(const nk_index *index,
                         nk_error **error);

// Merges everything into one segment without dead documents. Blocks neither readers nor writers;
// needs disk space for the result beside the old files. Errors: those of `nk_index_flush`.
nk_status nk_index_compact(const nk_index *index,
                           nk_error **error);

// Like `nk_index_compact`, and ends early if `cancel`, which may be null, says so: the error is
// `NK_CANCELLED` then, and nothing has changed. `cancel` is not called after the call. It may call
// the index, but neither compact nor close it: `NK_INVALID`.
nk_status nk_index_compact_until(const nk_index *index,
                                 nk_cancel cancel,
                                 void *user_data,
                                 nk_error **error);

// Does what maintenance is due, a step at a time: for indexes with "maintenance=inline".
// `did_work` (may be null) says whether there was any. Errors: those of `nk_index_flush`.
nk_status nk_index_maintain(const nk_index *index,
                            bool *did_work,
                            nk_error **error);

// Reads and checks every byte of an index or a reader. `is_intact` says whether no damage was
// found; `report` (may be null) is JSON with the damage, each with file and place. Free the
// report. Errors: only if the check could not be completed.
nk_status nk_verify(const nk_readable *of,
                    bool *is_intact,
                    nk_text **report,
                    nk_error **error);

// Like `nk_verify`, and ends early if `cancel`, which may be null, says so: the error is
// `NK_CANCELLED` then. `cancel` is not called after the call.
nk_status nk_verify_until(const nk_readable *of,
                          nk_cancel cancel,
                          void *user_data,
                          bool *is_intact,
                          nk_text **report,
                          nk_error **error);

// Copies an index, as it is now or as a reader sees it, into the new folder `path`. Writes go on.
// Errors: `NK_EXISTS`, `NK_INVALID` if the folder has content, `NK_IO`.
nk_status nk_backup(const nk_readable *of,
                    const char *path_data,
                    size_t path_len,
                    nk_error **error);

// Statistics of an index or a reader as JSON: documents, dead, segments, bytes_on_disk, change and
// others. Free the text.
nk_status nk_stats_json(const nk_readable *of,
                        nk_text **json,
                        nk_error **error);

// Makes parameters for which a pair of similarity `threshold` is compared with 95 % probability.
// Errors: `NK_INVALID` unless 0 < threshold < 1.
nk_status nk_params_for_threshold(double threshold,
                                  nk_params **params,
                                  nk_error **error);

// Makes parameters from settings, such as "threshold=0.7,shingles=words:3". The settings are those
// of the command `nearkin create`: preset, threshold, shingles, hashes, bands (17x5), recall,
// lane_bits, normalise, stop_words (separated by spaces), common (what
// `nearkin tune --ignore-common SHARE --out FILE` wrote), passages, bag, keep_case, keep_space,
// no_nfc (true or false), scheme, seed. A preset is applied first. Free the parameters. Errors:
// `NK_INVALID` names the setting.
nk_status nk_params_from_text(const char *settings,
                              size_t settings_len,
                              nk_params **params,
                              nk_error **error);

// All parameters as one line of JSON, for logs and comparisons. Free the text.
nk_status nk_params_json(const nk_params *params,
                         nk_text **json,
                         nk_error **error);

// Makes options from settings, such as "durability=os,ttl_ms=86400000"; an empty text gives the
// defaults. The settings: durability (sync, os, or the age in milliseconds of the oldest write
// that a power cut may undo), maintenance (shared, background, inline), read_mode (mmap, pread),
// memory_bytes, memtable_bytes, batch_bytes, merge_bytes, ttl_ms, merge_when_idle, keep_mapped
// (true or false), shared (true: other processes write, too, by turns), lock_wait_ms.
// Errors: `NK_INVALID` names the setting.
nk_status nk_options_from_text(const char *settings,
                               size_t settings_len,
                               nk_options **options,
                               nk_error **error);

// Sets the listener for events of the indexes that are opened with these options afterwards. The
// data are released when the options have another listener or are freed, and these indexes are
// freed. If the call fails, they are not released.
nk_status nk_options_on_event(const nk_options *options,
                              nk_listener on_event,
                              void *user_data,
                              nk_release release,
                              nk_error **error);

// Makes conditions from settings, such as "threshold=0.8,limit=10"; an empty text sets none. Free
// them. Numbers have a point, whatever the locale.
//
// Conditions on documents: threshold, contained (least similarity, least share of the smaller
// document that the larger one contains: from 0 to 1; with contained, the default threshold is 0),
// after, before (the document was inserted or last replaced at this time or later, or before it,
// in milliseconds since 1970), prefix (see `nk_query_prefix`, which takes any bytes), verify (true
// searches below threshold and contained, for a caller that compares the documents).
//
// Bounds: limit (results returned; documents that an admission replaced are always returned),
// max_candidates (candidates compared; not for pairs and clusters), deadline_ms (milliseconds from
// the beginning of each call). After the deadline, a query returns what it found, with `complete`
// false; other calls fail with `NK_CANCELLED`, and an admission writes nothing.
//
// For `nk_index_admit`: keep (first, the default: the stored document stays and the newcomer is
// rejected; newest: the newcomer replaces its duplicates; longest; all: it is admitted, and its
// duplicates are among the related documents), relate (least similarity of other stored documents
// that are returned for an admitted newcomer).
//
// Errors: `NK_INVALID` names the setting.
nk_status nk_query_from_text(const char *settings,
                             size_t settings_len,
                             nk_query **query,
                             nk_error **error);

// Only documents whose keys begin with this prefix count: a tenant's part of the index. An
// admission refuses newcomers with another key. An empty prefix removes the condition.
nk_status nk_query_prefix(const nk_query *query,
                          const void *prefix,
                          size_t prefix_len,
                          nk_error **error);

// Only documents that pass the caller's filter count; null removes the filter. The data are
// released when the query is freed or gets another filter, and no running call uses the old one.
// If this call fails, the data are not released.
nk_status nk_query_filter(const nk_query *query,
                          nk_filter filter,
                          void *user_data,
                          nk_release release,
                          nk_error **error);

// Ends calls with these conditions early, as soon as `cancel` says so, also while one document is
// compared with many. As after a deadline, a query returns what it found, with
// `complete` false; other calls fail with `NK_CANCELLED`, and an admission writes nothing. Null
// removes the condition. The data are released as those of `nk_query_filter`.
nk_status nk_query_cancel_if(const nk_query *query,
                             nk_cancel cancel,
                             void *user_data,
                             nk_release release,
                             nk_error **error);

// Opens an index for reading. A reader writes nothing, needs no lock, and shows the state of this
// call until `nk_reader_refresh`. `options` may be null. Errors: `NK_NOT_FOUND`, `NK_UNSETTLED`,
// `NK_CORRUPT`, `NK_UNSUPPORTED`, `NK_IO`.
nk_status nk_reader_open(const char *path_data,
                         size_t path_len,
                         const nk_options *options,
                         nk_reader **reader,
                         nk_error **error);

// Advances a reader to the current state; `is_later` (may be null) says whether anything changed.
// Snapshots, answers and iterators stay as they are. After an error the reader keeps its state.
nk_status nk_reader_refresh(const nk_reader *reader,
                            bool *is_later,
                            nk_error **error);

// Takes an unchanging view of an index or a reader: cheap. The snapshot may outlive both, and
// keeps its files on disk until it is freed.
nk_status nk_snapshot_take(const nk_readable *of,
                           nk_snapshot **snapshot,
                           nk_error **error);

// The parameters of an index. Free them.
nk_status nk_params_of(const nk_readable *of,
                       nk_params **params,
                       nk_error **error);

// The number of documents, and the number of the last change that is seen. Either result may be
// null. Constant time.
nk_status nk_count(const nk_readable *of,
                   uint64_t *documents,
                   uint64_t *change,
                   nk_error **error);

// Whether there is a document with this key. Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_contains(const nk_readable *of,
                      const void *key,
                      size_t key_len,
                      bool *is_there,
                      nk_error **error);

// The document with this key, or null if there is none: that is no error. Free the document.
// Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_get(const nk_readable *of,
                 const void *key,
                 size_t key_len,
                 nk_document **document,
                 nk_error **error);

// Gives the fields of a document.
nk_status nk_document_get(const nk_document *document,
                          nk_document_view *view,
                          nk_error **error);

// Gives the fields of an answer.
nk_status nk_answer_get(const nk_answer *answer,
                        nk_answer_view *view,
                        nk_error **error);

// The bytes of a text: UTF-8 that ends with a zero byte, owned by the text. Null if the handle is
// no text handle.
const char *nk_text_get(const nk_text *text);

// Makes a sketcher for these parameters. No index is needed.
nk_status nk_sketcher_new(const nk_params *params,
                          nk_sketcher **sketcher,
                          nk_error **error);

// Makes the signature of a text in UTF-8. `of` is an index, a reader or a snapshot (`NK_READ`), or
// a sketcher (`NK_SKETCH`). Errors: `NK_EMPTY` if the text is blank, `NK_INVALID` if it is not
// UTF-8.
nk_status nk_sketch_text(const nk_readable *of,
                         const char *text_data,
                         size_t text_len,
                         nk_signature **signature,
                         nk_error **error);

// Makes the signature of a set of items, for parameters with "shingles=items". `of` is as for
// `nk_sketch_text`. Errors: `NK_EMPTY` if there are no items.
nk_status nk_sketch_items(const nk_readable *of,
                          const nk_bytes *items,
                          size_t items_len,
                          nk_signature **signature,
                          nk_error **error);

// Makes a signature from the bytes and the number of shingles that `nk_signature_get` gave, for
// signatures that are kept elsewhere. Errors: `NK_INVALID` if the length is not that of a
// signature of these parameters.
nk_status nk_signature_from_bytes(const nk_params *params,
                                  const void *data,
                                  size_t len,
                                  uint32_t shingles,
                                  nk_signature **signature,
                                  nk_error **error);

// The signature of a document, as a handle of its own. Free it.
nk_status nk_document_signature(const nk_document *document,
                                nk_signature **signature,
                                nk_error **error);

// The bytes of a signature, which belong to it, and the number of its shingles. Either result may
// be null.
nk_status nk_signature_get(const nk_signature *signature,
                           nk_bytes *data,
                           uint32_t *shingles,
                           nk_error **error);

// The name of a status, such as "no_such_key". Static, never null; "unknown_status" for a number
// that is no status.
const char *nk_status_name(int32_t status);

// What to do about errors of this status, in one line. Static, never null; for a number that is no
// status, the line says so.
const char *nk_status_advice(int32_t status);

// Makes an iterator over the keys that begin with a prefix, in the order of their bytes; an empty
// prefix means all keys. Free the iterator. Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_keys_begin(const nk_readable *of,
                        const void *prefix,
                        size_t prefix_len,
                        nk_keys **keys,
                        nk_error **error);

// Gives the next key, which belongs to the iterator and is valid until the next call. At the end,
// `has_key` is false and `key` is not changed.
nk_status nk_keys_next(const nk_keys *keys,
                       nk_bytes *key,
                       bool *has_key,
                       nk_error **error);

// Makes an iterator over all pairs of documents that both pass the conditions. `query` may be
// null. Each step searches for the next pair; the order is not specified. Free the iterator.
// Errors, also of a step: `NK_INVALID`, `NK_CANCELLED`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
nk_status nk_pairs_begin(const nk_readable *of,
                         const nk_query *query,
                         nk_pairs **pairs,
                         nk_error **error);

// Gives the next pair. At the end, `has_pair` is false and `pair` is not changed.
nk_status nk_pairs_next(const nk_pairs *pairs,
                        nk_pair *pair,
                        bool *has_pair,
                        nk_error **error);

// Finds all clusters: documents linked by the pairs of `nk_pairs_begin`. With a limit, those with
// the smallest keys. `query` may be null. This call does all the work. Free the iterator. Errors:
// those of `nk_pairs_begin`.
nk_status nk_clusters_begin(const nk_readable *of,
                            const nk_query *query,
                            nk_clusters **clusters,
                            nk_error **error);

// Gives the next cluster. At the end, `has_cluster` is false and `cluster` is not changed.
nk_status nk_clusters_next(const nk_clusters *clusters,
                           nk_cluster *cluster,
                           bool *has_cluster,
                           nk_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NEARKIN_H */

#define NK_READ(handle) ((const nk_readable *)(const void *)(handle))
#define NK_SKETCH(sketcher) NK_READ(sketcher)
