#define _GNU_SOURCE
#include "process.h"

#include <sys/prctl.h>
#include <unistd.h>

static int argument_count = 0;
static char **arguments = NULL;

// The GNU C library hands main's arguments to constructors, too:
// https://sourceware.org/git/?p=glibc.git;a=blob;f=csu/libc-start.c
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

char *const *understudy_arguments(int *count) {
  *count = argument_count;
  return arguments;
}

pid_t understudy_fork(void) { return fork(); }

int understudy_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1); }

int understudy_take_terminal(posix_spawn_file_actions_t *actions, int terminal) {
  return posix_spawn_file_actions_addtcsetpgrp_np(actions, terminal);
}
