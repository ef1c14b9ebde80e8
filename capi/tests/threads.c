/* Threads share an index, conditions with a filter, and a batch; they use handles that another
 * thread frees meanwhile, and one of them closes the index at the end. Run by capi/run-tests. */
#define _POSIX_C_SOURCE 200809L
#include <nearkin.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

static int rounds = 300;
static nk_index *of_all = NULL;
static nk_query *query = NULL;
static nk_batch *batch = NULL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A signature that any thread may use, replace and free at any time. */
static nk_signature *passed_on = NULL;

static int even(void *user_data, const void *key, size_t key_len, const void *payload,
                size_t payload_len) {
  uint64_t documents = 0;
  (void)payload;
  (void)payload_len;
  /* A callback may call the library. */
  CHECK(nk_count(NK_READ(user_data), &documents, NULL, NULL) == NK_OK && documents > 0);
  return key_len > 0 && ((const char *)key)[key_len - 1] % 2 == 0;
}

static nk_signature *exchange(nk_signature *signature) {
  nk_signature *before;
  pthread_mutex_lock(&lock);
  before = passed_on;
  passed_on = signature;
  pthread_mutex_unlock(&lock);
  return before;
}

static void *work(void *argument) {
  const int thread = *(const int *)argument;
  int round;
  for (round = 0; round < rounds; round++) {
    char key[32], text[128];
    nk_signature *signature = NULL, *old;
    nk_answer *answer = NULL;
    nk_answer_view view;
    nk_outcome outcome;
    nk_error *error = NULL;
    nk_status status;
    size_t at;
    sprintf(key, "t%d-%d", thread, round);
    sprintf(text, "the quick brown fox number %d jumps over the lazy dog", round % 10);
    CHECK(nk_sketch_text(NK_READ(of_all), text, strlen(text), &signature, &error) == NK_OK);
    CHECK(nk_index_insert(of_all, key, strlen(key), signature, NULL, 0, &outcome, &error) == NK_OK);
    CHECK(outcome == NK_INSERTED);
    CHECK(nk_batch_insert(batch, key, strlen(key), signature, NULL, 0, 0, &error) == NK_OK);
    CHECK(nk_find_signature(NK_READ(of_all), signature, query, &answer, &view, &error) == NK_OK);
    CHECK(view.matches_len <= 5 && view.complete);
    for (at = 0; at < view.matches_len; at++) {
      const nk_bytes found = view.matches[at].key;
      CHECK(((const char *)found.data)[found.len - 1] % 2 == 0);
      CHECK(view.matches[at].similarity >= 0.5);
    }
    CHECK(nk_free(answer) == NK_OK);
    /* Whoever takes the old one out frees it, while others may be using it. */
    old = exchange(signature);
    status = nk_find_signature(NK_READ(of_all), old, NULL, &answer, NULL, &error);
    CHECK(status == NK_OK || status == NK_BAD_HANDLE);
    CHECK(nk_free(status == NK_OK ? (void *)answer : (void *)error) == NK_OK);
    CHECK(nk_free(old) == NK_OK);
    pthread_mutex_lock(&lock);
    old = passed_on;
    pthread_mutex_unlock(&lock);
    status = nk_signature_get(old, NULL, NULL, NULL);
    CHECK(status == NK_OK || status == NK_BAD_HANDLE);
  }
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  int numbers[THREADS], at;
  nk_params *params = NULL;
  uint64_t documents = 0;
  size_t operations = 0;
  if (argc > 1) rounds = atoi(argv[1]);
  CHECK(nk_params_from_text("threshold=0.5,shingles=words:1", 30, &params, NULL) == NK_OK);
  CHECK(nk_index_temporary(params, NULL, &of_all, NULL) == NK_OK);
  CHECK(nk_query_from_text("limit=5", 7, &query, NULL) == NK_OK);
  CHECK(nk_query_filter(query, even, of_all, NULL, NULL) == NK_OK);
  CHECK(nk_batch_new(&batch, NULL) == NK_OK);
  CHECK(nk_sketch_text(NK_READ(of_all), "a b c", 5, &passed_on, NULL) == NK_OK);
  for (at = 0; at < THREADS; at++) {
    numbers[at] = at;
    CHECK(pthread_create(&threads[at], NULL, work, &numbers[at]) == 0);
  }
  for (at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
  CHECK(nk_count(NK_READ(of_all), &documents, NULL, NULL) == NK_OK);
  CHECK(documents == (uint64_t)THREADS * (uint64_t)rounds);
  CHECK(nk_batch_size(batch, &operations, NULL, NULL) == NK_OK && operations == documents);
  CHECK(nk_index_write(of_all, batch, NULL, 0, NULL, NULL) == NK_OK);
  CHECK(nk_index_close(of_all, NULL) == NK_OK);
  CHECK(nk_index_write(of_all, batch, NULL, 0, NULL, NULL) == NK_CLOSED);
  CHECK(nk_free(passed_on) == NK_OK && nk_free(batch) == NK_OK && nk_free(query) == NK_OK);
  CHECK(nk_free(of_all) == NK_OK && nk_free(params) == NK_OK);
  CHECK(nk_handles_live() == 0);
  printf("threads: ok\n");
  return 0;
}
