/* What a program does inside of its callbacks: it ends calls, and closes or frees the index. None of
 * that may wait for ever: SIGALRM ends the program. Run by capi/run-tests, also under valgrind. */
#define _POSIX_C_SOURCE 200809L
#include <nearkin.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                              \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
      if (error != NULL) fprintf(stderr, "  error: %s\n", nk_error_message(error));   \
      abort();                                                                        \
    }                                                                                 \
  } while (0)
#define OK(call) CHECK((call) == NK_OK)

static const char TEXT[] = "the ferry was cancelled after the harbour froze";

static nk_error *error = NULL;
static nk_index *index_ = NULL;
static nk_signature *signature = NULL;
static nk_query *query = NULL;
/* What closing or freeing the index returned. */
static nk_status closed = NK_OTHER;
static int is_freed = 0, releases = 0, asked = 0, asks_until_cancel = 0;

/* Closes or frees the index, once. */
static void end(void) {
  if (closed != NK_OTHER) return;
  closed = NK_OK;
  closed = is_freed ? nk_free(index_) : nk_index_close(index_, NULL);
}

static int pass(void *user_data, const void *key, size_t key_len, const void *payload,
                size_t payload_len) {
  (void)user_data, (void)key, (void)key_len, (void)payload, (void)payload_len;
  end();
  return 1;
}

static void tell(void *user_data, const nk_event *event) {
  (void)user_data;
  if (event->kind == NK_EVENT_FLUSHED || event->kind == NK_EVENT_COMPACTED) end();
}

static int close_it(void *user_data) {
  (void)user_data;
  end();
  return 0;
}

static int cancel(void *user_data) {
  CHECK(user_data == &asked);
  return ++asked > asks_until_cancel;
}

static void release(void *user_data) {
  CHECK(user_data == &asked);
  releases++;
}

/* An index in memory of as many documents, all alike. */
static void make(const char *settings, int documents, nk_listener listener) {
  nk_params *params = NULL;
  nk_options *options = NULL;
  nk_batch *batch = NULL;
  int number;
  OK(nk_params_for_threshold(0.7, &params, &error));
  OK(nk_options_from_text(settings, strlen(settings), &options, &error));
  if (listener != NULL) OK(nk_options_on_event(options, listener, NULL, NULL, &error));
  OK(nk_index_temporary(params, options, &index_, &error));
  OK(nk_sketch_text(NK_READ(index_), TEXT, strlen(TEXT), &signature, &error));
  OK(nk_query_from_text("", 0, &query, &error));
  OK(nk_batch_new(&batch, &error));
  for (number = 0; number < documents; number++) {
    OK(nk_batch_insert(batch, &number, sizeof number, signature, NULL, 0, 0, &error));
  }
  OK(nk_index_write(index_, batch, NULL, 0, NULL, &error));
  nk_free(batch);
  nk_free(options);
  nk_free(params);
  closed = NK_OTHER;
}

static void drop(void) {
  nk_free(query);
  nk_free(signature);
  nk_free(index_);
  if (error != NULL) nk_free(error);
  error = NULL;
  CHECK(nk_handles_live() == 0);
}

/* One call with a filter that ends the index. */
static nk_status search(int which) {
  nk_answer *answer = NULL;
  nk_admission *admission = NULL;
  nk_pairs *pairs = NULL;
  nk_clusters *clusters = NULL;
  nk_pair pair;
  bool has = false;
  nk_status status = NK_OK;
  switch (which) {
    case 0:
      status = nk_find_signature(NK_READ(index_), signature, query, &answer, NULL, &error);
      break;
    case 1:
      status = nk_index_admit(index_, "new", 3, signature, NULL, 0, query, &admission, &error);
      break;
    case 2:
      status = nk_pairs_begin(NK_READ(index_), query, &pairs, &error);
      if (status == NK_OK) status = nk_pairs_next(pairs, &pair, &has, &error);
      break;
    default:
      status = nk_clusters_begin(NK_READ(index_), query, &clusters, &error);
  }
  nk_free(answer), nk_free(admission), nk_free(pairs), nk_free(clusters);
  return status;
}

static void closing(void) {
  int which;
  for (is_freed = 0; is_freed < 2; is_freed++) {
    for (which = 0; which < 4; which++) {
      make("maintenance=inline", 20, NULL);
      OK(nk_query_filter(query, pass, NULL, NULL, &error));
      /* Searches go on with what they saw; an admission needs the index. */
      CHECK(search(which) == (which == 1 && !is_freed ? NK_CLOSED : NK_OK));
      CHECK(closed == NK_OK);
      drop();
    }
    for (which = 0; which < 3; which++) {
      static const char *const settings[] = {"maintenance=inline", "maintenance=background", ""};
      make(settings[which], 20, tell);
      OK(nk_index_flush(index_, &error));
      /* Closing would wait for the listener. The event may be told by another thread, later. */
      CHECK(closed == (is_freed ? NK_OK : NK_INVALID) || (which > 0 && closed == NK_OTHER));
      if (!is_freed) OK(nk_index_close(index_, &error));
      drop();
    }
  }
}

/* The progress of a compaction is reported under its lock: closing the index is refused. */
static void closing_in_a_compaction(void) {
  bool is_intact = false;
  is_freed = 0;
  make("maintenance=inline", 20, NULL);
  OK(nk_index_flush(index_, &error));
  OK(nk_index_insert(index_, "z", 1, signature, NULL, 0, NULL, &error));
  OK(nk_index_compact_until(index_, close_it, NULL, &error));
  CHECK(closed == NK_INVALID);
  closed = NK_OTHER;
  CHECK(nk_verify_until(NK_READ(index_), close_it, NULL, &is_intact, NULL, &error) == NK_CLOSED);
  CHECK(closed == NK_OK);
  drop();
}

static void ending(void) {
  nk_answer *answer = NULL;
  nk_answer_view view;
  uint64_t documents = 0;
  bool is_intact = false;
  int which;
  make("maintenance=inline", 3000, NULL);
  OK(nk_query_cancel_if(query, cancel, &asked, release, &error));
  for (asks_until_cancel = 0; asks_until_cancel < 2; asks_until_cancel++) {
    asked = 0;
    OK(nk_find_signature(NK_READ(index_), signature, query, &answer, &view, &error));
    CHECK(!view.complete && asked > asks_until_cancel);
    nk_free(answer);
    for (which = 1; which < 4; which++) {
      asked = 0;
      CHECK(search(which) == NK_CANCELLED && asked > asks_until_cancel);
      nk_free(error);
      error = NULL;
    }
  }
  OK(nk_count(NK_READ(index_), &documents, NULL, &error));
  CHECK(documents == 3000 && releases == 0);
  asks_until_cancel = 1 << 30;
  OK(search(2));
  OK(nk_query_cancel_if(query, NULL, NULL, NULL, &error));
  CHECK(releases == 1);
  OK(search(0));
  OK(nk_index_flush(index_, &error));
  OK(nk_index_insert(index_, "z", 1, signature, NULL, 0, NULL, &error));
  asks_until_cancel = 0;
  CHECK(nk_index_clear(index_, cancel, &asked, NULL, NULL) == NK_CANCELLED);
  OK(nk_count(NK_READ(index_), &documents, NULL, &error));
  CHECK(documents == 3001);
  CHECK(nk_index_compact_until(index_, cancel, &asked, &error) == NK_CANCELLED);
  CHECK(nk_verify_until(NK_READ(index_), cancel, &asked, &is_intact, NULL, NULL) == NK_CANCELLED);
  OK(nk_verify_until(NK_READ(index_), NULL, NULL, &is_intact, NULL, &error));
  CHECK(is_intact);
  OK(nk_index_compact_until(index_, NULL, NULL, &error));
  drop();
}

int main(void) {
  alarm(120);
  closing();
  closing_in_a_compaction();
  ending();
  puts("callbacks: ok");
  return 0;
}
