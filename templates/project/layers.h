/* What is multiplied: the layers of a workload, and how many rows of activations they meet. */
#ifndef LAYERS_H
#define LAYERS_H

#include "weights.h"

static const char workload[] = @WORKLOAD@;

static const layer layers[] = {
@LAYERS@
};

/* Rows, and how often: 1 is a token that is decoded, more is a prompt. */
static const tw_mix rows[] = {@ROWS@};

#endif
