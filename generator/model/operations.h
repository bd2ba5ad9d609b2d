// All rows of the operation list; what OP makes of one is up to who includes this (operation.h).
#include "model/operations_floats.h"
#include "model/operations_integers.h"
#include "model/operations_memory.h"
#include "model/operations_moves.h"
#include "model/operations_scalars.h"
#include "model/operations_tiles.h"
