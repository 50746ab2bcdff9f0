#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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

int understudy_message_pair(int pair[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair); }

int understudy_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1); }

// The child of a process with threads may only call what signal handlers may.
static void run(char *const *command, char *const *environment, int standard_error, int terminal, int watcher,
                unsigned char kind, int report) {
  pid_t group = getpid();
  setpgid(0, 0);
  if (watcher >= 0) {
    unsigned char message[1 + sizeof group];
    message[0] = kind;
    memcpy(message + 1, &group, sizeof group);
    send(watcher, message, sizeof message, MSG_NOSIGNAL);
  }
  // All signals are blocked. SIGTTOU would stop a background process that does this.
  if (terminal >= 0) tcsetpgrp(terminal, group);
  // SIGPIPE ends the command when it writes to a closed pipe, as it would without this program.
  signal(SIGPIPE, SIG_DFL);
  dup2(standard_error, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execvpe(command[0], command, environment);
  int reason = errno;
  (void)!write(report, &reason, sizeof reason);
  _exit(127);
}

pid_t understudy_launch(char *const *command, char *const *environment, int standard_error, int terminal, int watcher,
                        unsigned char kind, int *error) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    *error = errno;
    return -1;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pid_t process = fork();
  if (process == 0) run(command, environment, standard_error, terminal, watcher, kind, report[1]);
  *error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (process > 0) {
    ssize_t count;
    do count = read(report[0], error, sizeof *error);
    while (count < 0 && errno == EINTR);
    if (count > 0) {
      waitpid(process, NULL, 0);
      process = -1;
    }
  }
  close(report[0]);
  return process;
}

void understudy_return_free_memory(void) { malloc_trim(0); }

int understudy_exchange(const char *first, const char *second) {
  if (renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  char aside[PATH_MAX];
  if (snprintf(aside, sizeof aside, "%s.old", first) >= (int)sizeof aside) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (rename(second, aside) != 0) return -1;
  if (rename(first, second) == 0) return rename(aside, first);
  int reason = errno;
  rename(aside, second);
  errno = reason;
  return -1;
}
