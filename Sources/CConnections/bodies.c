// glibc joins all small pieces of free memory when somebody asks for 1,024 bytes or more, and hands them out again in the order
// in which they were freed: those that the processor's cache has forgotten first. Where each answer asks for so much, a tenth
// to a fifth of the time of a short request goes into that. So bodies of such a size are copied to blocks that are used again.
#include "bodies.h"

#include <microhttpd.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
  // Shorter bodies are small pieces themselves.
  shortest = 960,
  block_size = 8192,
  // As many are kept by each thread; two workers keep 256 kB at most.
  most_spare = 16,
};

struct block {
  struct block *next;
  unsigned char bytes[];
};

struct spare {
  struct block *first;
  unsigned int count;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int has_key;

static void free_spare(void *pointer) {
  struct spare *spare = pointer;
  while (spare->first != NULL) {
    struct block *block = spare->first;
    spare->first = block->next;
    free(block);
  }
  free(spare);
}

static void make_key(void) { has_key = pthread_key_create(&key, free_spare) == 0; }

// This thread's blocks. NULL when there is no memory for them.
static struct spare *own_spare(void) {
  pthread_once(&once, make_key);
  if (!has_key) return NULL;
  struct spare *spare = pthread_getspecific(key);
  if (spare == NULL) {
    spare = calloc(1, sizeof *spare);
    if (spare != NULL && pthread_setspecific(key, spare) != 0) {
      free(spare);
      spare = NULL;
    }
  }
  return spare;
}

static struct block *take_block(void) {
  struct spare *spare = own_spare();
  if (spare == NULL || spare->first == NULL) return malloc(sizeof(struct block) + block_size);
  struct block *block = spare->first;
  spare->first = block->next;
  spare->count--;
  return block;
}

// On whichever thread is done with the response.
static void give_back(void *pointer) {
  struct block *block = pointer;
  struct spare *spare = own_spare();
  if (spare == NULL || spare->count >= most_spare) {
    free(block);
    return;
  }
  block->next = spare->first;
  spare->first = block;
  spare->count++;
}

struct MHD_Response *understudy_copied_response(const void *bytes, size_t count) {
  if (count >= shortest && count <= block_size) {
    struct block *block = take_block();
    if (block == NULL) return NULL;
    memcpy(block->bytes, bytes, count);
    struct MHD_Response *made =
        MHD_create_response_from_buffer_with_free_callback_cls(count, block->bytes, give_back, block);
    if (made == NULL) give_back(block);
    return made;
  }
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
