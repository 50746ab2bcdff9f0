// What Swift's Glibc doesn't offer for processes and files.
#ifndef UNDERSTUDY_CPROCESS_H
#define UNDERSTUDY_CPROCESS_H

#include <sys/types.h>

// The arguments with which the process was started, its name first. Swift reads them from /proc, which not every machine has.
char *_Nullable const *_Nonnull understudy_arguments(int *_Nonnull count);

// fork(2), which Swift hides. Only while the process has one thread: the child has that one alone, and locks that others hold
// stay locked in it.
pid_t understudy_fork(void);

// Runs a command, looked up in PATH, in a process group of its own, with no signal blocked. Before it runs, the group is
// put into the foreground of `terminal`, unless that is -1, and one message is sent to `watcher`, unless that is -1: the
// byte `kind` and the group. posix_spawn tells the group only when the command is running; if this process were killed in
// between, nobody would know the group. Returns the process, or -1 and the reason in `error`.
pid_t understudy_launch(char *_Nullable const *_Nonnull arguments, char *_Nullable const *_Nonnull environment, int standard_error,
                        int terminal, int watcher, unsigned char kind, int *_Nonnull error);

// Two connected sockets between which messages travel whole, closed when another program is run. Returns 0 when there are.
int understudy_message_pair(int pair[_Nonnull 2]);

// From now on, this process is the parent of orphaned descendants, and learns when they end.
int understudy_adopt_orphans(void);

// Two files or directories take each other's places, in one step (renameat2). Where the file system can't do that, in two. Returns
// 0, or -1 with the reason in errno.
int understudy_exchange(const char *_Nonnull first, const char *_Nonnull second);

// Returns memory that was freed to the system, which malloc keeps otherwise.
void understudy_return_free_memory(void);

#endif
