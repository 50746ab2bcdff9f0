// What a Swift program can't ask of its own process.
#ifndef UNDERSTUDY_CPROCESS_H
#define UNDERSTUDY_CPROCESS_H

#include <spawn.h>
#include <sys/types.h>

// The arguments with which the process was started, its name first. Swift reads them from /proc, which not every machine has.
char *_Nullable const *_Nonnull understudy_arguments(int *_Nonnull count);

// fork(2), which Swift hides. Only while the process has one thread: the child has that one alone, and locks that others hold
// stay locked in it.
pid_t understudy_fork(void);

// Has the spawned process make its group the foreground one of `terminal`, before anything of it runs.
int understudy_take_terminal(posix_spawn_file_actions_t *_Nonnull actions, int terminal);

// From now on we are the parent of whatever our children leave behind, and learn when it ends.
int understudy_adopt_orphans(void);

#endif
