/* Do I already have this? Keeps an index of the files in a folder, and tells for each file whether
 * it is new, as before, or nearly a copy of another one.
 *
 *   already_have INDEX FOLDER
 */
#define _POSIX_C_SOURCE 200809L
#include <nearkin.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says what went wrong and what to do, and ends the program. */
static void check(nk_status status, nk_error *error, const char *doing) {
  if (status == NK_OK) return;
  fprintf(stderr, "%s: %s\n%s\n", doing, nk_error_message(error), nk_status_advice(status));
  exit(1);
}

/* The content of a file; null if it cannot be read. Free it. */
static char *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  char *content = NULL;
  long size;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
    content = malloc((size_t)size + 1);
    *len = content == NULL ? 0 : fread(content, 1, (size_t)size, file);
  }
  fclose(file);
  return content;
}

static void look_at(nk_index *index, const nk_query *near_copies, const char *name, const char *text,
                    size_t len) {
  nk_error *error = NULL;
  nk_signature *signature = NULL;
  nk_admission *admission = NULL;
  nk_admission_view view;
  nk_status status = nk_sketch_text(NK_READ(index), text, len, &signature, &error);
  if (status == NK_EMPTY || status == NK_INVALID) {
    printf("skipped  %s: %s\n", name, nk_error_message(error));
    nk_free(error);
    return;
  }
  check(status, error, name);
  check(nk_index_admit(index, name, strlen(name), signature, NULL, 0, near_copies, &admission,
                       &error),
        error, name);
  check(nk_admission_get(admission, &view, &error), error, name);
  if (view.decision != NK_REJECTED) {
    printf("%s  %s\n", view.decision == NK_ADMITTED_UNCHANGED ? "as before" : "new    ", name);
  } else {
    const nk_match *like = &view.duplicates[0];
    printf("have it  %s: %.2f like %.*s\n", name, like->similarity, (int)like->key.len,
           (const char *)like->key.data);
  }
  nk_free(admission);
  nk_free(signature);
}

int main(int argc, char **argv) {
  const char *settings = "preset=documents", *conditions = "threshold=0.8,limit=1";
  nk_error *error = NULL;
  nk_params *params = NULL;
  nk_index *index = NULL;
  nk_query *near_copies = NULL;
  struct dirent **entries = NULL;
  int count, at;
  if (argc != 3) {
    fprintf(stderr, "usage: already_have INDEX FOLDER\n");
    return 2;
  }
  check(nk_params_from_text(settings, strlen(settings), &params, &error), error, settings);
  check(nk_index_open_or_create(argv[1], strlen(argv[1]), params, NULL, &index, &error), error,
        argv[1]);
  check(nk_query_from_text(conditions, strlen(conditions), &near_copies, &error), error,
        conditions);
  count = scandir(argv[2], &entries, NULL, alphasort);
  if (count < 0) {
    perror(argv[2]);
    return 1;
  }
  for (at = 0; at < count; at++) {
    char path[4096];
    size_t len = 0;
    char *text = NULL;
    int length = snprintf(path, sizeof path, "%s/%s", argv[2], entries[at]->d_name);
    if (entries[at]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof path) {
      text = read_file(path, &len);
      if (text != NULL) look_at(index, near_copies, entries[at]->d_name, text, len);
    }
    free(text);
    free(entries[at]);
  }
  free(entries);
  check(nk_index_close(index, &error), error, argv[1]);
  nk_free(near_copies);
  nk_free(index);
  nk_free(params);
  return 0;
}
