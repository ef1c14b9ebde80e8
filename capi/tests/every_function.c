/* Calls every function of nearkin.h. Run under valgrind by capi/run-tests, which also checks that no
 * function is missing here. The first argument is a folder for indexes. */
#include <nearkin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);           \
      if (error != NULL) fprintf(stderr, "  error: %s\n", nk_error_message(error)); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)
#define OK(call) CHECK((call) == NK_OK)
/* The call fails with this status, and says so in an error. */
#define FAILS(status, call)                             \
  do {                                                  \
    error = NULL;                                       \
    CHECK((call) == (status));                          \
    CHECK(error != NULL);                               \
    CHECK(nk_error_status(error) == (status));          \
    CHECK(strlen(nk_error_message(error)) > 10);        \
    CHECK(nk_free(error) == NK_OK);                     \
    error = NULL;                                       \
  } while (0)

/* The call is refused with a message that begins so. */
#define REFUSES(begin, call)                                              \
  do {                                                                    \
    CHECK((call) == NK_INVALID);                                          \
    CHECK(strncmp(nk_error_message(error), (begin), strlen(begin)) == 0); \
    CHECK(nk_free(error) == NK_OK);                                       \
    error = NULL;                                                         \
  } while (0)

static nk_error *error = NULL;
static char folder[512];

static const char *path_of(const char *name) {
  static char path[1024];
  sprintf(path, "%s/%s", folder, name);
  return path;
}

static int equals(nk_bytes bytes, const char *text) {
  return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static const char FOX[] = "the quick brown fox jumps over the lazy dog by the river in the morning";
static const char FOX2[] = "The quick brown fox jumps over the lazy dog, by the river in the morning!";
static const char BREAD[] = "a recipe for bread with rye flour and honey from the old bakery in town";

static nk_params *params_of(const char *settings) {
  nk_params *params = NULL;
  OK(nk_params_from_text(settings, strlen(settings), &params, &error));
  return params;
}

static nk_signature *signature_of(const void *of, const char *text) {
  nk_signature *signature = NULL;
  OK(nk_sketch_text(NK_READ(of), text, strlen(text), &signature, &error));
  return signature;
}

static void errors_and_handles(void) {
  nk_params *params = params_of("threshold=0.7"), *other = NULL;
  nk_batch *batch = NULL;
  nk_error *last = NULL;
  int number = 7;
  size_t before = nk_handles_live();
  CHECK(strlen(nk_version()) >= 5);
  CHECK(nk_free(NULL) == NK_OK);
  OK(nk_batch_new(&batch, NULL));
  CHECK(nk_handles_live() == before + 1);
  /* Another kind, null, freed, freed twice, no handle at all. */
  FAILS(NK_BAD_HANDLE, nk_batch_clear((nk_batch *)(void *)params, &error));
  FAILS(NK_BAD_HANDLE, nk_batch_clear(NULL, &error));
  FAILS(NK_BAD_HANDLE, nk_batch_clear((nk_batch *)(void *)&number, &error));
  CHECK(nk_free(batch) == NK_OK);
  CHECK(nk_free(batch) == NK_BAD_HANDLE);
  FAILS(NK_BAD_HANDLE, nk_batch_clear(batch, &error));
  CHECK(nk_batch_clear(batch, NULL) == NK_BAD_HANDLE);
  CHECK(nk_handles_live() == before);
  /* Messages name what is wrong; a success leaves the error alone. */
  CHECK(nk_params_for_threshold(7.0, &other, &last) == NK_INVALID);
  CHECK(other == NULL && strstr(nk_error_message(last), "threshold") != NULL);
  CHECK(nk_params_for_threshold(0.5, &other, &last) == NK_OK);
  CHECK(nk_error_status(last) == NK_INVALID);
  CHECK(strcmp(nk_status_name(NK_NO_SUCH_KEY), "no_such_key") == 0);
  CHECK(strcmp(nk_status_name(NK_BUG), "bug") == 0);
  CHECK(strcmp(nk_status_name(-1), "unknown_status") == 0);
  CHECK(strlen(nk_status_advice(NK_INVALID)) > 5 && strlen(nk_status_advice(99)) > 5);
  CHECK(nk_error_status(NULL) == NK_BAD_HANDLE && strlen(nk_error_message(NULL)) > 5);
  CHECK(nk_free(last) == NK_OK && nk_free(other) == NK_OK && nk_free(params) == NK_OK);
}

static void params_and_options(void) {
  nk_params *params = NULL, *preset;
  nk_options *options = NULL;
  nk_text *json = NULL;
  const char *all =
      "threshold=0.5, shingles=words:1, hashes=64, recall=0.9, lane_bits=16, "
      "normalise=fold,diacritics, stop_words=the a, bag=true, seed=3, scheme=fast";
  const char *options_text =
      "durability=os,maintenance=inline,read_mode=pread,memory_bytes=8000000,memtable_bytes=1000000,batch_bytes=100000,"
      "merge_bytes=1000000,ttl_ms=100000,merge_when_idle=false,keep_mapped=false";
  OK(nk_params_from_text(all, strlen(all), &params, &error));
  OK(nk_params_json(params, &json, &error));
  CHECK(strstr(nk_text_get(json), "\"hashes\":64") != NULL);
  CHECK(nk_text_get(NULL) == NULL);
  nk_free(json);
  preset = params_of("preset=archive,bands=9x4,hashes=128");
  FAILS(NK_INVALID, nk_params_from_text("shingles=leaves", 15, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text("colour=red", 10, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text("bands=9", 7, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text("seed=1,seed=2", 13, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text("seed", 4, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text("\xff", 1, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text(NULL, 4, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text(all, (size_t)-1, &params, &error));
  FAILS(NK_INVALID, nk_params_from_text(all, strlen(all), NULL, &error));
  OK(nk_options_from_text(options_text, strlen(options_text), &options, &error));
  nk_free(options);
  OK(nk_options_from_text("durability=250,maintenance=background,read_mode=mmap", 52, &options,
                          &error));
  nk_free(options);
  OK(nk_options_from_text("durability=sync,maintenance=shared", 34, &options, &error));
  nk_free(options);
  FAILS(NK_INVALID, nk_options_from_text("maintenance=never", 17, &options, &error));
  FAILS(NK_INVALID, nk_options_from_text("durability=maybe", 16, &options, &error));
  FAILS(NK_INVALID, nk_options_from_text("speed=9", 7, &options, &error));
  nk_free(preset);
  nk_free(params);
}

static void opening(void) {
  nk_params *params = params_of("threshold=0.7,shingles=words:2"), *found = NULL;
  nk_params *other = params_of("threshold=0.7,shingles=words:3");
  nk_index *index = NULL, *second = NULL;
  nk_signature *fox;
  nk_text *a = NULL, *b = NULL;
  bool is_there = true;
  char path[1024];
  strcpy(path, path_of("opening"));
  FAILS(NK_NOT_FOUND, nk_index_open(path, strlen(path), NULL, &index, &error));
  OK(nk_index_exists(path, strlen(path), &is_there, &error));
  CHECK(!is_there);
  FAILS(NK_INVALID, nk_index_create(path, 0, params, NULL, &index, &error));
  FAILS(NK_BAD_HANDLE, nk_index_create(path, strlen(path), NULL, NULL, &index, &error));
  OK(nk_index_create(path, strlen(path), params, NULL, &index, &error));
  FAILS(NK_EXISTS, nk_index_create(path, strlen(path), params, NULL, &second, &error));
  FAILS(NK_LOCKED, nk_index_open(path, strlen(path), NULL, &second, &error));
  OK(nk_params_of(NK_READ(index), &found, &error));
  OK(nk_params_json(found, &a, &error));
  OK(nk_params_json(params, &b, &error));
  CHECK(strcmp(nk_text_get(a), nk_text_get(b)) == 0);
  fox = signature_of(index, FOX);
  OK(nk_index_insert(index, "fox", 3, fox, NULL, 0, NULL, &error));
  OK(nk_index_close(index, &error));
  OK(nk_index_close(index, &error));
  FAILS(NK_CLOSED, nk_index_insert(index, "fox", 3, fox, NULL, 0, NULL, &error));
  FAILS(NK_CLOSED, nk_find_signature(NK_READ(index), fox, NULL, (nk_answer **)&a, NULL, &error));
  OK(nk_index_exists(path, strlen(path), &is_there, &error));
  CHECK(is_there);
  FAILS(NK_MISMATCH, nk_index_open_or_create(path, strlen(path), other, NULL, &second, &error));
  OK(nk_index_open_or_create(path, strlen(path), params, NULL, &second, &error));
  OK(nk_contains(NK_READ(second), "fox", 3, &is_there, &error));
  CHECK(is_there);
  nk_free(a);
  nk_free(b);
  nk_free(fox);
  nk_free(found);
  nk_free(other);
  nk_free(params);
  nk_free(index);
  nk_free(second);
}

static void writing(void) {
  nk_params *params = params_of("threshold=0.6,shingles=words:1");
  nk_index *index = NULL;
  nk_batch *batch = NULL;
  nk_outcome outcome, outcomes[6] = {0};
  nk_document *document = NULL;
  nk_document_view view;
  nk_signature *fox, *fox2, *bread, *stored = NULL, *copy = NULL;
  nk_bytes data, same;
  uint32_t shingles = 0;
  uint64_t change = 0, documents = 0, removed = 0;
  size_t operations = 0, log_bytes = 0;
  bool did_work = true;
  OK(nk_index_temporary(params, NULL, &index, &error));
  fox = signature_of(index, FOX);
  fox2 = signature_of(index, FOX2);
  bread = signature_of(index, BREAD);
  OK(nk_index_insert(index, "p1", 2, fox, NULL, 0, &outcome, &error));
  CHECK(outcome == NK_INSERTED);
  OK(nk_index_insert(index, "p1", 2, fox2, NULL, 0, &outcome, &error));
  CHECK(outcome == NK_UNCHANGED); /* Normalised, the two texts are the same. */
  OK(nk_index_insert(index, "p1", 2, bread, "rye", 3, &outcome, &error));
  CHECK(outcome == NK_REPLACED);
  OK(nk_index_set_payload(index, "p1", 2, "honey", 5, &outcome, &error));
  OK(nk_index_set_payload(index, "none", 4, "honey", 5, &outcome, &error));
  CHECK(outcome == NK_MISSING);
  OK(nk_get(NK_READ(index), "p1", 2, &document, &error));
  OK(nk_document_get(document, &view, &error));
  CHECK(equals(view.key, "p1") && equals(view.payload, "honey") && view.time > 0);
  OK(nk_document_signature(document, &stored, &error));
  OK(nk_signature_get(stored, &data, &shingles, &error));
  OK(nk_signature_get(bread, &same, NULL, &error));
  CHECK(data.len == same.len && memcmp(data.data, same.data, data.len) == 0 && shingles > 5);
  OK(nk_signature_from_bytes(params, data.data, data.len, shingles, &copy, &error));
  FAILS(NK_INVALID, nk_signature_from_bytes(params, data.data, 3, shingles, &copy, &error));
  OK(nk_index_insert(index, "p2", 2, copy, NULL, 0, NULL, &error));
  nk_free(document);
  OK(nk_get(NK_READ(index), "none", 4, &document, &error));
  CHECK(document == NULL);
  FAILS(NK_INVALID, nk_index_insert(index, "", 0, fox, NULL, 0, NULL, &error));
  FAILS(NK_BAD_HANDLE, nk_index_insert(index, "p1", 2, (nk_signature *)(void *)index, NULL, 0, NULL, &error));

  OK(nk_batch_new(&batch, &error));
  OK(nk_batch_insert(batch, "q1", 2, fox, NULL, 0, 0, &error));
  OK(nk_batch_insert(batch, "q2", 2, bread, "x", 1, 0, &error));
  OK(nk_batch_set_payload(batch, "q1", 2, "y", 1, &error));
  OK(nk_batch_remove(batch, "p1", 2, &error));
  OK(nk_batch_remove(batch, "gone", 4, &error));
  OK(nk_batch_size(batch, &operations, &log_bytes, &error));
  CHECK(operations == 5 && log_bytes > 100);
  OK(nk_index_write(index, batch, outcomes, 6, &change, &error));
  CHECK(outcomes[0] == NK_SUPERSEDED && outcomes[1] == NK_INSERTED && outcomes[2] == NK_INSERTED);
  CHECK(outcomes[3] == NK_REMOVED && outcomes[4] == NK_MISSING && outcomes[5] == 0);
  OK(nk_batch_clear(batch, &error));
  OK(nk_batch_size(batch, &operations, NULL, &error));
  CHECK(operations == 0);
  OK(nk_index_write(index, batch, NULL, 0, NULL, &error));
  OK(nk_batch_remove(batch, "q1", 2, &error));
  OK(nk_batch_insert(batch, "", 0, fox, NULL, 0, 0, &error));
  REFUSES("document 1 (counted from 0), key \"\": ", nk_index_write(index, batch, NULL, 0, NULL, &error));
  OK(nk_index_remove(index, "q1", 2, &outcome, &error));
  CHECK(outcome == NK_REMOVED);
  OK(nk_count(NK_READ(index), &documents, &change, &error));
  CHECK(documents == 2 && change > 4);
  OK(nk_index_remove_prefix(index, "q", 1, &removed, &error));
  CHECK(removed == 1);
  REFUSES("an empty prefix would remove every document", nk_index_remove_prefix(index, "", 0, &removed, &error));
  OK(nk_index_remove_prefix_until(index, "q", 1, NULL, NULL, &removed, &error));
  FAILS(NK_BAD_HANDLE, nk_index_clear((nk_index *)(void *)&removed, NULL, NULL, &removed, &error));
  CHECK(removed == 0);
  OK(nk_index_remove_before(index, 1, NULL, NULL, &removed, &error));
  CHECK(removed == 0);
  OK(nk_index_sync(index, &change, &error));
  OK(nk_index_refresh(index, &did_work, &error));
  OK(nk_index_refresh_until(index, change, 10, &did_work, &error));
  CHECK(did_work);
  OK(nk_index_flush(index, &error));
  OK(nk_index_compact(index, &error));
  OK(nk_index_compact_until(index, NULL, NULL, &error));
  OK(nk_index_maintain(index, &did_work, &error));
  nk_free(batch);
  nk_free(copy);
  nk_free(stored);
  nk_free(fox);
  nk_free(fox2);
  nk_free(bread);
  nk_free(params);
  nk_free(index);
}

static void sketching(void) {
  nk_params *params = params_of("threshold=0.5,shingles=items");
  nk_params *words = params_of("threshold=0.5,shingles=words:1");
  nk_sketcher *sketcher = NULL;
  nk_signature *signature = NULL, *of_text;
  nk_bytes items[3] = {{"bread", 5}, {"milk", 4}, {"tea", 3}};
  uint32_t shingles = 0;
  OK(nk_sketcher_new(params, &sketcher, &error));
  OK(nk_sketch_items(NK_SKETCH(sketcher), items, 3, &signature, &error));
  OK(nk_signature_get(signature, NULL, &shingles, &error));
  CHECK(shingles == 3);
  FAILS(NK_EMPTY, nk_sketch_items(NK_SKETCH(sketcher), items, 0, &signature, &error));
  items[1].data = NULL;
  REFUSES("item 1 (counted from 0)", nk_sketch_items(NK_SKETCH(sketcher), items, 3, &signature, &error));
  nk_free(sketcher);
  OK(nk_sketcher_new(words, &sketcher, &error));
  of_text = signature_of(sketcher, FOX);
  FAILS(NK_EMPTY, nk_sketch_text(NK_SKETCH(sketcher), "  ", 2, &signature, &error));
  FAILS(NK_INVALID, nk_sketch_text(NK_SKETCH(sketcher), "a\xff", 2, &signature, &error));
  FAILS(NK_BAD_HANDLE, nk_sketch_text(NK_READ(params), "a b", 3, &signature, &error));
  nk_free(of_text);
  nk_free(signature);
  nk_free(sketcher);
  nk_free(words);
  nk_free(params);
}

static int releases = 0;
static void release(void *user_data) {
  CHECK(*(int *)user_data >= 0);
  releases += 1;
}

static int only_b(void *user_data, const void *key, size_t key_len, const void *payload,
                  size_t payload_len) {
  *(int *)user_data += 1;
  CHECK(payload_len == 0 || payload != NULL);
  return key_len > 0 && *(const char *)key == 'b';
}

static nk_index *filled(const char *settings) {
  nk_params *params = params_of(settings);
  nk_index *index = NULL;
  nk_signature *fox, *bread;
  OK(nk_index_temporary(params, NULL, &index, &error));
  fox = signature_of(index, FOX);
  bread = signature_of(index, BREAD);
  OK(nk_index_insert(index, "a1", 2, fox, "one", 3, NULL, &error));
  OK(nk_index_insert(index, "b1", 2, fox, NULL, 0, NULL, &error));
  OK(nk_index_insert(index, "c1", 2, bread, NULL, 0, NULL, &error));
  nk_free(fox);
  nk_free(bread);
  nk_free(params);
  return index;
}

static nk_query *query_of(const char *settings) {
  nk_query *query = NULL;
  OK(nk_query_from_text(settings, strlen(settings), &query, &error));
  return query;
}

static void querying(void) {
  nk_index *index = filled("threshold=0.6,shingles=words:1");
  nk_signature *fox = signature_of(index, FOX);
  nk_query *query = NULL;
  nk_answer *answer = NULL;
  nk_answer_view view;
  int calls = 0;
  OK(nk_find_signature(NK_READ(index), fox, NULL, &answer, NULL, &error));
  OK(nk_answer_get(answer, &view, &error));
  CHECK(view.matches_len == 2 && view.found == 2 && view.complete && view.threshold == 0.6);
  CHECK(equals(view.matches[0].key, "a1") && equals(view.matches[0].payload, "one"));
  CHECK(equals(view.matches[1].key, "b1") && view.matches[1].similarity == 1.0);
  CHECK(view.matches[0].containment != view.matches[0].containment); /* not a number */
  CHECK(view.matches[0].equal_rows > 10 && view.change == 3);
  nk_free(answer);
  query = query_of("threshold=0.5,contained=0.9,limit=1,max_candidates=100,deadline_ms=60000");
  OK(nk_find_text(NK_READ(index), FOX2, strlen(FOX2), query, &answer, &view, &error));
  CHECK(view.matches_len == 1 && view.found == 2 && view.matches[0].containment > 0.9);
  nk_free(answer);
  OK(nk_query_filter(query, only_b, &calls, release, &error));
  OK(nk_find_key(NK_READ(index), "a1", 2, query, &answer, &view, &error));
  CHECK(view.matches_len == 1 && equals(view.matches[0].key, "b1") && calls == 1);
  FAILS(NK_NO_SUCH_KEY, nk_find_key(NK_READ(index), "zz", 2, query, &answer, NULL, &error));
  CHECK(releases == 0);
  OK(nk_query_filter(query, NULL, NULL, NULL, &error));
  CHECK(releases == 1);
  OK(nk_query_filter(query, only_b, &calls, release, &error));
  OK(nk_query_filter(query, only_b, &calls, release, &error));
  CHECK(releases == 2);
  nk_free(query);
  CHECK(releases == 3);
  FAILS(NK_BAD_HANDLE, nk_query_filter(query, only_b, &calls, release, &error));
  FAILS(NK_BAD_HANDLE, nk_query_cancel_if(query, NULL, &calls, release, &error));
  CHECK(releases == 3);
  nk_free(index);
  /* An answer outlives the index. */
  CHECK(equals(view.matches[0].key, "b1"));
  nk_free(answer);
  nk_free(fox);
}

/* A deadline counts from each call, not from the making of the conditions. */
static void waiting(void) {
  nk_index *index = filled("threshold=0.6,shingles=words:1");
  nk_signature *fox = signature_of(index, FOX);
  nk_query *late = query_of("deadline_ms=0"), *query = query_of("deadline_ms=1000");
  nk_answer *answer = NULL;
  nk_answer_view view;
  nk_clusters *clusters = NULL;
  const clock_t begun = clock();
  OK(nk_find_signature(NK_READ(index), fox, late, &answer, &view, &error));
  CHECK(!view.complete);
  nk_free(answer);
  FAILS(NK_CANCELLED, nk_clusters_begin(NK_READ(index), late, &clusters, &error));
  while (clock() - begun < CLOCKS_PER_SEC + CLOCKS_PER_SEC / 10) {
  }
  OK(nk_find_signature(NK_READ(index), fox, query, &answer, &view, &error));
  CHECK(view.complete && view.found == 2);
  nk_free(answer);
  nk_free(query);
  nk_free(late);
  nk_free(fox);
  nk_free(index);
}

static void refused(const char *settings, const char *name) {
  nk_query *query = NULL;
  CHECK(nk_query_from_text(settings, strlen(settings), &query, &error) == NK_INVALID);
  CHECK(query == NULL && strstr(nk_error_message(error), name) != NULL);
  nk_free(error);
  error = NULL;
}

/* A filter by time: documents of 1000, 2000 and 3000 ms, of which each condition lets some pass. */
static void querying_by_time(void) {
  nk_params *params = params_of("threshold=0.6,shingles=words:1");
  nk_index *index = NULL;
  nk_batch *batch = NULL;
  nk_query *query = NULL;
  nk_answer *answer = NULL;
  nk_answer_view view;
  nk_admission *admission = NULL;
  nk_admission_view admitted;
  nk_signature *fox;
  OK(nk_index_temporary(params, NULL, &index, &error));
  fox = signature_of(index, FOX);
  OK(nk_batch_new(&batch, &error));
  OK(nk_batch_insert(batch, "t1", 2, fox, NULL, 0, 1000, &error));
  OK(nk_batch_insert(batch, "t2", 2, fox, "x", 1, 2000, &error));
  OK(nk_batch_insert(batch, "u3", 2, fox, NULL, 0, 3000, &error));
  OK(nk_index_write(index, batch, NULL, 0, NULL, &error));
  query = query_of("after=2000");
  OK(nk_find_signature(NK_READ(index), fox, query, &answer, &view, &error));
  CHECK(view.found == 2 && equals(view.matches[0].key, "t2") && view.matches[0].time == 2000);
  nk_free(answer);
  nk_free(query);
  query = query_of("after=2000, before=3000");
  OK(nk_find_signature(NK_READ(index), fox, query, &answer, &view, &error));
  CHECK(view.found == 1 && equals(view.matches[0].key, "t2"));
  nk_free(answer);
  nk_free(query);
  query = query_of("before=1000");
  OK(nk_index_admit(index, "n1", 2, fox, NULL, 0, query, &admission, &error));
  OK(nk_admission_get(admission, &admitted, &error));
  CHECK(admitted.decision);
  nk_free(admission);
  nk_free(query);
  query = query_of("before=1001");
  OK(nk_index_admit(index, "n2", 2, fox, NULL, 0, query, &admission, &error));
  OK(nk_admission_get(admission, &admitted, &error));
  CHECK(!admitted.decision && admitted.duplicates_len == 1);
  CHECK(equals(admitted.duplicates[0].key, "t1"));
  nk_free(admission);
  nk_free(query);
  query = query_of("before=4000,prefix=t");
  OK(nk_query_prefix(query, "u", 1, &error));
  OK(nk_find_signature(NK_READ(index), fox, query, &answer, &view, &error));
  CHECK(view.found == 1 && equals(view.matches[0].key, "u3"));
  refused("after=-1", "after must be milliseconds since 1970");
  refused("limit=1.5", "limit must be a whole number");
  refused("threshold=2", "0 to 1");
  refused("deadline_ms=soon", "deadline_ms must be a number");
  refused("deadline_ms=1,deadline_ms=1", "deadline_ms is given twice");
  refused("limmit=1", "\"limmit\"");
  refused("keep=best", "keep must be 'first', 'newest', 'longest' or 'all'");
  refused("relate=much", "relate=much");
  refused("relate=1,limit=2,relate=1", "relate is given twice");
  nk_free(answer);
  nk_free(query);
  nk_free(batch);
  nk_free(fox);
  nk_free(index);
  nk_free(params);
}

static void admitting(void) {
  nk_index *index = filled("threshold=0.6,shingles=words:1");
  nk_signature *fox = signature_of(index, FOX);
  nk_query *query = query_of("threshold=0.8,limit=1"), *newest;
  nk_admission *admission = NULL;
  nk_admission_view view;
  int calls = 0, released = releases;
  OK(nk_index_admit(index, "d1", 2, fox, NULL, 0, query, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(!view.decision && view.duplicates_len == 1 && view.complete);
  CHECK(equals(view.duplicates[0].key, "a1") && view.related_len == 0 && view.change == 3);
  nk_free(admission);
  /* Without conditions, the threshold of the index decides. */
  OK(nk_index_admit(index, "d1", 2, fox, NULL, 0, NULL, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(!view.decision && view.duplicates_len == 2);
  nk_free(admission);
  OK(nk_query_filter(query, only_b, &calls, release, &error));
  OK(nk_index_admit(index, "b9", 2, fox, NULL, 0, query, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(!view.decision && equals(view.duplicates[0].key, "b1") && calls > 0);
  nk_free(admission);
  nk_free(query);
  CHECK(releases == released + 1);
  newest = query_of("threshold=0.9,keep=newest,contained=0.9");
  OK(nk_query_prefix(newest, "a", 1, &error));
  OK(nk_index_admit(index, "a2", 2, fox, "two", 3, newest, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(view.decision == NK_ADMITTED && view.duplicates_len == 1);
  CHECK(equals(view.duplicates[0].key, "a1"));
  nk_free(admission);
  FAILS(NK_INVALID, nk_index_admit(index, "b2", 2, fox, NULL, 0, newest, &admission, &error));
  nk_free(newest);
  newest = query_of("threshold=1,keep=longest,relate=0");
  OK(nk_index_admit(index, "x", 1, fox, NULL, 0, newest, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(view.decision == NK_REJECTED);
  nk_free(admission);
  nk_free(newest);
  /* All stay, and the newcomer is told of those like it. */
  newest = query_of("threshold=0.9,keep=all");
  OK(nk_index_admit(index, "x", 1, fox, NULL, 0, newest, &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(view.decision != NK_REJECTED && view.duplicates_len == 0 && view.related_len > 1);
  nk_free(admission);
  nk_free(newest);
  nk_free(fox);
  nk_free(index);
}

/* The text of every document is FOX, but for "lost", which cannot be had. */
static int fetch(void *calls, const void *key, size_t key_len, nk_bytes *text) {
  ++*(int *)calls;
  text->data = FOX;
  text->len = strlen(FOX);
  return key_len != 4 || memcmp(key, "lost", 4) != 0;
}

static void comparing(void) {
  nk_index *index = NULL;
  nk_params *params = params_of("threshold=0.6,shingles=words:1");
  nk_signature *fox = NULL;
  nk_admission *admission = NULL;
  nk_admission_view view;
  int calls = 0;
  OK(nk_index_temporary(params, NULL, &index, &error));
  OK(nk_sketch_text(NK_READ(index), FOX, strlen(FOX), &fox, &error));
  OK(nk_index_insert(index, "fox", 3, fox, NULL, 0, NULL, &error));
  OK(nk_index_admit_text(index, "copy", 4, FOX2, strlen(FOX2), "p", 1, NULL, fetch, &calls,
                         &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(view.decision == NK_REJECTED && view.complete && calls == 1 && equals(view.duplicates[0].key, "fox"));
  nk_free(admission);
  OK(nk_index_remove(index, "fox", 3, NULL, &error));
  OK(nk_index_insert(index, "lost", 4, fox, NULL, 0, NULL, &error));
  OK(nk_index_admit_text(index, "copy", 4, FOX2, strlen(FOX2), NULL, 0, NULL, fetch, &calls,
                         &admission, &error));
  OK(nk_admission_get(admission, &view, &error));
  CHECK(view.decision != NK_REJECTED && !view.complete && calls == 2);
  nk_free(admission);
  FAILS(NK_EMPTY, nk_index_admit_text(index, "copy", 4, " ", 1, NULL, 0, NULL, fetch, &calls,
                                      &admission, &error));
  FAILS(NK_INVALID, nk_index_admit_text(index, "copy", 4, FOX, 5, NULL, 0, NULL, NULL, NULL,
                                        &admission, &error));
  nk_free(fox);
  nk_free(params);
  nk_free(index);
}

static void walking(void) {
  nk_index *index = filled("threshold=0.6,shingles=words:1");
  nk_keys *keys = NULL;
  nk_pairs *pairs = NULL;
  nk_clusters *clusters = NULL;
  nk_bytes key;
  nk_pair pair;
  nk_cluster cluster;
  nk_query *query = query_of("threshold=0.8,contained=0.5"), *few = query_of("max_candidates=9");
  bool more = false;
  int count = 0, calls = 0;
  OK(nk_keys_begin(NK_READ(index), "", 0, &keys, &error));
  OK(nk_query_prefix(query, "b", 1, &error));
  OK(nk_pairs_begin(NK_READ(index), query, &pairs, &error));
  OK(nk_pairs_next(pairs, &pair, &more, &error));
  CHECK(!more);
  nk_free(pairs);
  OK(nk_query_prefix(query, NULL, 0, &error));
  OK(nk_query_filter(query, only_b, &calls, release, &error));
  OK(nk_clusters_begin(NK_READ(index), query, &clusters, &error));
  OK(nk_clusters_next(clusters, &cluster, &more, &error));
  CHECK(!more && calls == 3);
  nk_free(clusters);
  OK(nk_query_filter(query, NULL, NULL, NULL, &error));
  OK(nk_pairs_begin(NK_READ(index), query, &pairs, &error));
  FAILS(NK_INVALID, nk_pairs_begin(NK_READ(index), few, &pairs, &error));
  OK(nk_clusters_begin(NK_READ(index), NULL, &clusters, &error));
  nk_free(query);
  nk_free(few);
  nk_free(index);
  for (;;) {
    OK(nk_keys_next(keys, &key, &more, &error));
    if (!more) break;
    CHECK(key.len == 2);
    count += 1;
  }
  CHECK(count == 3);
  OK(nk_pairs_next(pairs, &pair, &more, &error));
  CHECK(more && equals(pair.a, "a1") && equals(pair.b, "b1") && pair.similarity == 1.0);
  CHECK(pair.containment > 0.9 && pair.equal_rows > 10);
  OK(nk_pairs_next(pairs, &pair, &more, &error));
  CHECK(!more);
  OK(nk_clusters_next(clusters, &cluster, &more, &error));
  CHECK(more && cluster.len == 2 && equals(cluster.keys[1], "b1") && cluster.times[0] > 0);
  OK(nk_clusters_next(clusters, &cluster, &more, &error));
  CHECK(!more);
  FAILS(NK_BAD_HANDLE, nk_keys_next((nk_keys *)(void *)pairs, &key, &more, &error));
  nk_free(keys);
  nk_free(pairs);
  nk_free(clusters);
}

static int events[10];
static void on_event(void *user_data, const nk_event *event) {
  CHECK(event->message.len > 5 && event->json.len > 5);
  CHECK(event->kind < 10);
  ((int *)user_data)[event->kind] += 1;
}

static void reading_beside(void) {
  nk_params *params = params_of("threshold=0.6,shingles=words:1");
  nk_options *options = NULL;
  nk_index *index = NULL;
  nk_reader *reader = NULL;
  nk_snapshot *snapshot = NULL, *of_snapshot = NULL;
  nk_signature *fox;
  nk_text *json = NULL;
  uint64_t documents = 9;
  bool yes = false;
  char path[1024];
  int released = releases;
  strcpy(path, path_of("beside"));
  OK(nk_options_from_text("maintenance=inline", 18, &options, &error));
  OK(nk_options_on_event(options, on_event, events, release, &error));
  FAILS(NK_INVALID, nk_options_on_event(options, NULL, events, release, &error));
  OK(nk_index_create(path, strlen(path), params, options, &index, &error));
  OK(nk_reader_open(path, strlen(path), NULL, &reader, &error));
  fox = signature_of(reader, FOX);
  OK(nk_snapshot_take(NK_READ(index), &snapshot, &error));
  OK(nk_index_insert(index, "p1", 2, fox, NULL, 0, NULL, &error));
  OK(nk_index_flush(index, &error));
  CHECK(events[NK_EVENT_FLUSHED] == 1);
  OK(nk_reader_refresh(reader, &yes, &error));
  CHECK(yes);
  OK(nk_count(NK_READ(reader), &documents, NULL, &error));
  CHECK(documents == 1);
  OK(nk_count(NK_READ(snapshot), &documents, NULL, &error));
  CHECK(documents == 0);
  OK(nk_snapshot_take(NK_READ(snapshot), &of_snapshot, &error));
  OK(nk_stats_json(NK_READ(reader), &json, &error));
  CHECK(strstr(nk_text_get(json), "\"documents\":1") != NULL);
  nk_free(json);
  FAILS(NK_BAD_HANDLE, nk_stats_json(NK_READ(snapshot), &json, &error));
  OK(nk_verify(NK_READ(index), &yes, &json, &error));
  CHECK(yes && strstr(nk_text_get(json), "\"problems\":[]") != NULL);
  OK(nk_verify(NK_READ(reader), &yes, NULL, &error));
  FAILS(NK_BAD_HANDLE, nk_verify(NK_READ(snapshot), &yes, NULL, &error));
  OK(nk_verify_until(NK_READ(reader), NULL, NULL, &yes, NULL, &error));
  OK(nk_backup(NK_READ(reader), path_of("copy"), strlen(path_of("copy")), &error));
  OK(nk_backup(NK_READ(index), path_of("copy2"), strlen(path_of("copy2")), &error));
  FAILS(NK_BAD_HANDLE, nk_backup(NK_READ(snapshot), "x", 1, &error));
  OK(nk_index_exists(path_of("copy"), strlen(path_of("copy")), &yes, &error));
  CHECK(yes);
  OK(nk_index_close(index, &error));
  nk_free(json);
  nk_free(of_snapshot);
  nk_free(snapshot);
  nk_free(fox);
  nk_free(reader);
  CHECK(releases == released);
  nk_free(options);
  nk_free(index);
  CHECK(releases == released + 1);
  nk_free(params);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  strncpy(folder, argv[1], sizeof folder - 1);
  errors_and_handles();
  params_and_options();
  opening();
  writing();
  sketching();
  querying();
  querying_by_time();
  waiting();
  admitting();
  comparing();
  walking();
  reading_beside();
  CHECK(nk_handles_live() == 0);
  printf("every function: ok\n");
  return 0;
}
