/* What libfclib makes of a file: one line per array, "path count hash", and one per matrix, "path m n nz nzmax".
 *
 *   fclib_peer local|global FILE TARGET [solution] [guesses]
 *
 * prints the problem in FILE and, where named, its solution and guesses (libfclib ends the process with exit code 1
 * when asked for one that is not there), and lets libfclib write all of it to TARGET, a new file.
 * The hash is FNV-1a over the bytes of the array. */
#include <fclib.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t hash(const void *data, size_t size)
{
  uint64_t value = 14695981039346656037u;
  for (size_t k = 0; k < size; ++k) value = (value ^ ((const unsigned char *)data)[k]) * 1099511628211u;
  return value;
}

static void show_ints(const char *path, const int *data, int count)
{
  printf("%s %d %016llx\n", path, count, (unsigned long long)hash(data, sizeof(int) * (size_t)count));
}

static void show_vector(const char *path, const double *data, int count)
{
  if (data) printf("%s %d %016llx\n", path, count, (unsigned long long)hash(data, sizeof(double) * (size_t)count));
}

static void show_matrix(const char *name, const struct fclib_matrix *A)
{
  char path[16];
  if (!A) return;
  int pointers = A->nz == -2 ? A->m + 1 : A->nz == -1 ? A->n + 1 : A->nz;
  int entries = A->nz >= 0 ? A->nz : A->p[pointers - 1];
  printf("%s %d %d %d %d\n", name, A->m, A->n, A->nz, A->nzmax);
  snprintf(path, sizeof path, "%s/p", name);
  show_ints(path, A->p, pointers);
  snprintf(path, sizeof path, "%s/i", name);
  show_ints(path, A->i, entries);
  snprintf(path, sizeof path, "%s/x", name);
  show_vector(path, A->x, entries);
  if (A->info)
    printf("%s/info %.17g %.17g %d %s\n", name, A->info->conditioning, A->info->determinant, A->info->rank,
           A->info->comment ? A->info->comment : "-");
}

static void show_text(const struct fclib_info *info)
{
  if (info && info->title) printf("title %s\n", info->title);
  if (info && info->description) printf("description %s\n", info->description);
  if (info && info->math_info) printf("math_info %s\n", info->math_info);
}

static void show_point(const char *group, const struct fclib_solution *point, int nv, int nu, int nl)
{
  char path[40];
  const double *data[] = {point->v, point->u, point->r, point->l};
  const int counts[] = {nv, nu, nu, nl};
  for (int k = 0; k < 4; ++k)
  {
    if (!counts[k]) continue;
    snprintf(path, sizeof path, "%s/%c", group, "vurl"[k]);
    show_vector(path, data[k], counts[k]);
  }
}

static void show_local(const struct fclib_local *problem, int nu, int nl)
{
  printf("spacedim %d\n", problem->spacedim);
  show_matrix("W", problem->W);
  show_matrix("V", problem->V);
  show_matrix("R", problem->R);
  show_vector("q", problem->q, nu);
  show_vector("mu", problem->mu, nu / 3);
  if (nl) show_vector("s", problem->s, nl);
  show_text(problem->info);
}

static void show_global(const struct fclib_global *problem, int nv, int nu, int nl)
{
  printf("spacedim %d\n", problem->spacedim);
  show_matrix("M", problem->M);
  show_matrix("H", problem->H);
  show_matrix("G", problem->G);
  show_vector("f", problem->f, nv);
  show_vector("w", problem->w, nu);
  show_vector("mu", problem->mu, nu / 3);
  if (nl) show_vector("b", problem->b, nl);
  show_text(problem->info);
}

static int show_points(const char *file, const char *target, const char *what, int nv, int nu, int nl)
{
  int count = 1, is_solution = !strcmp(what, "solution");
  struct fclib_solution *points = is_solution ? fclib_read_solution(file) : fclib_read_guesses(file, &count);
  if (!points) return 0;
  for (int k = 0; k < count; ++k)
  {
    char group[32] = "solution";
    if (!is_solution) snprintf(group, sizeof group, "guesses/%d", k + 1);
    show_point(group, points + k, nv, nu, nl);
  }
  return is_solution ? fclib_write_solution(points, target) : fclib_write_guesses(count, points, target);
}

int main(int argc, char **argv)
{
  int done, nv = 0, nu, nl;
  if (argc < 4) return 2;
  if (!strcmp(argv[1], "local"))
  {
    struct fclib_local *local = fclib_read_local(argv[2]);
    if (!local) return 3;
    nu = local->W->n;
    nl = local->R ? local->R->n : 0;
    show_local(local, nu, nl);
    done = fclib_write_local(local, argv[3]);
  }
  else
  {
    struct fclib_global *global = fclib_read_global(argv[2]);
    if (!global) return 3;
    nv = global->M->n;
    nu = global->H->n;
    nl = global->G ? global->G->n : 0;
    show_global(global, nv, nu, nl);
    done = fclib_write_global(global, argv[3]);
  }
  for (int k = 4; k < argc; ++k) done = show_points(argv[2], argv[3], argv[k], nv, nu, nl) && done;
  return done ? 0 : 4;
}
