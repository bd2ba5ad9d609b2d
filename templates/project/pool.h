/* Threads that wait for work. An engine has its own: tilewright starts none. */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>

typedef struct pool pool;

/* So many threads, the calling one included. */
pool *pool_create(size_t threads);
/* Every thread calls task(argument) once; returns when all have. */
void pool_run(pool *threads, void (*task)(void *argument), void *argument);
void pool_destroy(pool *threads);

#endif
