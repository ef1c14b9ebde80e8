/* A host that has closed 0, 1 and 2, as a daemon may: no file of the library gets these numbers, so
 * what is printed to them does no harm. The argument is a folder. Run by capi/run-tests. */
#define _POSIX_C_SOURCE 200809L
#include <nearkin.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int out;
#define CHECK(condition)                                                    \
  do {                                                                      \
    if (!(condition)) {                                                     \
      dprintf(out, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      if (error != NULL) dprintf(out, "  %s\n", nk_error_message(error));   \
      _exit(1);                                                             \
    }                                                                       \
  } while (0)
#define OK(call) CHECK((call) == NK_OK)

static const char TEXT[] = "the ferry was cancelled after the harbour froze";
static nk_error *error = NULL;
static char path[1024], copy[1040];

/* The descriptors below 3 must not lead into `folder`. */
static void look(const char *folder) {
#ifdef __linux__
  int number;
  for (number = 0; number < 3; number++) {
    char link[64], target[2048];
    ssize_t length;
    sprintf(link, "/proc/self/fd/%d", number);
    length = readlink(link, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = '\0';
    if (strstr(target, folder) != NULL) dprintf(out, "%d is %s\n", number, target);
    CHECK(strstr(target, folder) == NULL);
  }
#else
  (void)folder;
#endif
}

static void insert(nk_index *index, const nk_signature *signature, char first) {
  char key[2] = {first, '0'};
  for (; key[1] < '5'; key[1]++) OK(nk_index_insert(index, key, 2, signature, NULL, 0, NULL, &error));
}

/* What `host` does: writes, is talked over, and is killed. */
static void host(const char *folder) {
  static const char noise[] = "warning: a library of the host prints a line that nobody reads\n";
  nk_params *params = NULL;
  nk_index *index = NULL;
  nk_reader *reader = NULL;
  nk_signature *signature = NULL;
  int number;
  OK(nk_params_for_threshold(0.7, &params, &error));
  for (number = 0; number < 3; number++) close(number);
  OK(nk_index_create(path, strlen(path), params, NULL, &index, &error));
  OK(nk_sketch_text(NK_READ(index), TEXT, strlen(TEXT), &signature, &error));
  insert(index, signature, 'a');
  look(folder);
  for (number = 0; number < 3; number++) close(number);
  OK(nk_reader_open(path, strlen(path), NULL, &reader, &error));
  look(folder);
  for (number = 0; number < 3; number++) close(number);
  OK(nk_backup(NK_READ(index), copy, strlen(copy), &error));
  look(folder);
  for (number = 0; number < 3; number++) {
    ssize_t written = write(number, noise, strlen(noise));
    (void)written;
  }
  insert(index, signature, 'b');
  kill(getpid(), SIGKILL);
}

int main(int argc, char **argv) {
  const char *paths[2];
  int at, status = 0;
  pid_t child;
  if (argc != 2) return 2;
  sprintf(path, "%.1000s/index", argv[1]);
  sprintf(copy, "%.1000s/copy", argv[1]);
  out = fcntl(2, F_DUPFD, 20);
  child = fork();
  if (child == 0) host(argv[1]);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  paths[0] = path, paths[1] = copy;
  for (at = 0; at < 2; at++) {
    nk_index *index = NULL;
    uint64_t documents = 0;
    bool is_intact = false;
    OK(nk_index_open(paths[at], strlen(paths[at]), NULL, &index, &error));
    OK(nk_count(NK_READ(index), &documents, NULL, &error));
    OK(nk_verify(NK_READ(index), &is_intact, NULL, &error));
    CHECK(documents == (at == 0 ? 10 : 5) && is_intact);
    OK(nk_index_close(index, &error));
    nk_free(index);
  }
  puts("closed streams: ok");
  return 0;
}
