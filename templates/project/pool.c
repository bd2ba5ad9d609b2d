#define _POSIX_C_SOURCE 200809L
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>

struct pool {
  pthread_mutex_t mutex;
  pthread_cond_t begin, end;
  size_t round;   /* how many tasks there have been */
  size_t working; /* threads that are at the last one */
  int stop;
  void (*task)(void *argument);
  void *argument;
  size_t count; /* without the calling one */
  pthread_t threads[];
};

static void *wait_and_work(void *argument) {
  pool *p = argument;
  size_t done = 0;
  pthread_mutex_lock(&p->mutex);
  for (;;) {
    while (p->round == done && !p->stop) pthread_cond_wait(&p->begin, &p->mutex);
    if (p->stop) break;
    done = p->round;
    pthread_mutex_unlock(&p->mutex);
    p->task(p->argument);
    pthread_mutex_lock(&p->mutex);
    if (--p->working == 0) pthread_cond_signal(&p->end);
  }
  pthread_mutex_unlock(&p->mutex);
  return NULL;
}

pool *pool_create(size_t threads) {
  pool *p = calloc(1, sizeof *p + threads * sizeof p->threads[0]);
  if (p == NULL) return NULL;
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->begin, NULL);
  pthread_cond_init(&p->end, NULL);
  while (p->count + 1 < threads) {
    if (pthread_create(&p->threads[p->count], NULL, wait_and_work, p) != 0) break;
    ++p->count;
  }
  return p;
}

void pool_run(pool *p, void (*task)(void *argument), void *argument) {
  pthread_mutex_lock(&p->mutex);
  p->task = task;
  p->argument = argument;
  p->working = p->count;
  ++p->round;
  pthread_cond_broadcast(&p->begin);
  pthread_mutex_unlock(&p->mutex);
  task(argument);
  pthread_mutex_lock(&p->mutex);
  while (p->working > 0) pthread_cond_wait(&p->end, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
}

void pool_destroy(pool *p) {
  pthread_mutex_lock(&p->mutex);
  p->stop = 1;
  pthread_cond_broadcast(&p->begin);
  pthread_mutex_unlock(&p->mutex);
  for (size_t i = 0; i < p->count; ++i) pthread_join(p->threads[i], NULL);
  pthread_cond_destroy(&p->end);
  pthread_cond_destroy(&p->begin);
  pthread_mutex_destroy(&p->mutex);
  free(p);
}
