#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets.h"

#ifdef __APPLE__
#include <crt_externs.h>
#endif
#ifdef __linux__
#include <sys/prctl.h>
#endif

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man7/environ.7.html
char **understudy_environment(void) {
#ifdef __APPLE__
  return *_NSGetEnviron();
#else
  return environ;
#endif
}

#if defined(__APPLE__)

char *const *understudy_arguments(int *count) {
  *count = *_NSGetArgc();
  return *_NSGetArgv();
}

#else

static int argument_count = 0;
static char **arguments = NULL;

#ifdef __GLIBC__
// The GNU C library hands main's arguments to constructors, too:
// https://sourceware.org/git/?p=glibc.git;a=blob;f=csu/libc-start.c
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}
#endif

char *const *understudy_arguments(int *count) {
  *count = argument_count;
  return arguments;
}

#endif

pid_t understudy_fork(void) { return fork(); }

int understudy_adopt_orphans(void) {
#ifdef __linux__
  return prctl(PR_SET_CHILD_SUBREAPER, 1);
#else
  return -1;
#endif
}

// MARK: - Between processes

#ifndef __linux__
// The sockets are made first and marked to be closed in programs afterwards. No other thread may start a program
// meanwhile.
static void close_on_exec(const int pair[2]) {
  for (int i = 0; i < 2; i++) fcntl(pair[i], F_SETFD, FD_CLOEXEC);
}
#endif

int understudy_channel(int pair[2]) {
#ifdef __linux__
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return -1;
  close_on_exec(pair);
  for (int i = 0; i < 2; i++) understudy_silence(pair[i]);
  return 0;
#endif
}

static int make_pipe(int pair[2]) {
#ifdef __linux__
  return pipe2(pair, O_CLOEXEC);
#else
  if (pipe(pair) != 0) return -1;
  close_on_exec(pair);
  return 0;
#endif
}

void understudy_tell(int channel, unsigned char kind, const void *bytes, uint16_t size) {
  unsigned char message[3 + UINT16_MAX];
  message[0] = kind;
  message[1] = size & 0xFF;
  message[2] = size >> 8;
  memcpy(message + 3, bytes, size);
  send(channel, message, 3 + (size_t)size, understudy_no_signal);
}

// MARK: - A command

static void replace_with(char *const *command, char *const *environment) {
#ifdef __APPLE__
  // Darwin has no execvpe.
  *_NSGetEnviron() = (char **)environment;
  execvp(command[0], command);
#else
  execvpe(command[0], command, environment);
#endif
}

// The child of a process with threads may call only the functions that signal handlers may call.
static void run(char *const *command, char *const *environment, int standard_error, int terminal, int watcher,
                unsigned char kind, int report) {
  pid_t group = getpid();
  setpgid(0, 0);
  if (watcher >= 0) understudy_tell(watcher, kind, &group, sizeof group);
  // All signals are blocked. SIGTTOU would stop a background process that does this.
  if (terminal >= 0) tcsetpgrp(terminal, group);
  // SIGPIPE ends the command when it writes to a closed pipe, as it would without this program.
  signal(SIGPIPE, SIG_DFL);
  // So does SIGXFSZ when a file of its may not grow any more.
  signal(SIGXFSZ, SIG_DFL);
  dup2(standard_error, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  replace_with(command, environment);
  int reason = errno;
  (void)!write(report, &reason, sizeof reason);
  _exit(127);
}

pid_t understudy_launch(char *const *command, char *const *environment, int standard_error, int terminal, int watcher,
                        unsigned char kind, int *error) {
  int report[2];
  if (make_pipe(report) != 0) {
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

// MARK: - Threads

int understudy_start_thread(size_t stack, void *(*run)(void *), void *context) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack > 0) pthread_attr_setstacksize(&attributes, stack);
  pthread_t thread;
  int failure = pthread_create(&thread, &attributes, run, context);
  pthread_attr_destroy(&attributes);
  return failure;
}
