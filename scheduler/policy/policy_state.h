#pragma once
/* The policy's objects (accounts, seats, queues, devices, jobs), shared by the files of policy/ and
 * by nobody else. A Policy and its objects belong to the thread that calls policy_apply. */
#include "scheduler/policy/id_map.h"
#include "scheduler/policy/pairing_heap.h"
#include "scheduler/policy/policy_event.h"

/* Device-time times 2^20 over a weight. 64 bits would be used up by one device in five hours. */
__extension__ typedef unsigned __int128 VirtualTime;
#define VIRTUAL_TIME_UNIT POLICY_WEIGHT_MAX

typedef struct Policy Policy;
typedef struct Job Job;
typedef struct JobDeadline JobDeadline;
typedef struct Seat Seat;
typedef struct Tenant Tenant;
typedef struct Device Device;

enum {
    QUOTA_MINUTES = 60,      /* an hour slides by whole minutes */
    PLACEMENT_TRIES_MAX = 8, /* seats looked at before a device gives up on the pool */
    JOB_RETRIES_MAX = 3,     /* failed loads and moves before the job fails */
};

/* A tenant in one class: the unit that fair share is between. */
typedef struct Account {
    Tenant *tenant;
    PolicyClass class_;
    VirtualTime time;     /* includes the charges of running slices */
    VirtualTime charged;  /* those charges */
    VirtualTime job_time; /* the greatest start tag of the account's jobs: where a new job begins */
    uint64_t awake_jobs;  /* jobs that run, or are ready on a device */
    HeapNode awake_node;  /* in Policy.awake while awake_jobs > 0 */
    Seat *pool_seats;
    uint64_t plain_jobs; /* of its jobs in seats: without a deadline */
    int64_t plain_ns;    /* device-time that jobs with a deadline owe to jobs without one */
    bool plain_due;      /* enough of plain_ns that a job without a deadline is next */
} Account;

/* Jobs of one account that wait in one queue. */
struct Seat {
    IdKey key; /* of the account; of the queue, and whether the seat's jobs are open */
    Account *account;
    struct Queue *queue;
    bool open;             /* its jobs count in running_jobs already */
    bool queued;           /* in queue->seats: the seat has jobs and is not parked */
    bool parked;           /* a quota of the tenant is used up */
    uint32_t holder_count; /* jobs that point here */
    uint32_t job_count;    /* of them in urgent and plain */
    Heap urgent;           /* with deadlines, the earliest first */
    Heap plain;            /* by virtual time */
    HeapNode node;
    VirtualTime time; /* account->time when the seat was put at its place in the heap */
    Seat *next_parked;
    Seat *next_pool, *previous_pool; /* in account->pool_seats */
};

typedef struct Queue {
    uint32_t index;
    bool pool;  /* jobs in it have no device yet */
    bool local; /* jobs in it could run at once: they keep their accounts awake */
    Heap seats[POLICY_CLASS_COUNT];
    uint64_t job_count; /* in seats that are not parked */
} Queue;

/* Devices with the same size of memory, and the waiting jobs that fit no smaller one. */
typedef struct Bucket {
    uint64_t capacity; /* UINT64_MAX: the last bucket; its jobs fit no device so far */
    uint32_t device_count;
    Queue queue;
    Heap idle;                        /* devices with nothing to run: fastest, emptiest first */
    Heap running[POLICY_CLASS_COUNT]; /* devices that run that class and could be preempted */
} Bucket;

typedef struct Usage {
    uint64_t running_jobs, queued_jobs, device_bytes, host_bytes;
} Usage;

struct Tenant {
    IdKey key;
    uint64_t weight;
    uint64_t limits[POLICY_QUOTA_COUNT]; /* by PolicyQuota */
    Usage used;
    uint64_t minutes[QUOTA_MINUTES]; /* device-time by minute, a ring */
    uint64_t minute;                 /* the minute that is being filled */
    uint64_t hour_ns;                /* sum of minutes */
    uint64_t budget_ns;              /* of its running slices */
    Account accounts[POLICY_CLASS_COUNT];
    JobDeadline *deadlines; /* of its jobs, those to come */
    uint64_t deadline_count;
    Seat *parked;
    uint64_t wake_ns; /* when its seats are looked at again; 0: not by time */
    HeapNode timer_node;
    bool unparking; /* in Policy.unparking */
    Tenant *next_unparking;
};

typedef enum ReplicaState { REPLICA_LOADING, REPLICA_RESIDENT, REPLICA_EVICTING } ReplicaState;

/* A model's weights on one device; each device has them once, for all executions there. */
typedef struct Replica {
    IdKey key; /* model, device */
    Device *device;
    struct Model *model;
    uint64_t bytes;
    ReplicaState state;
    uint32_t user_count;             /* executions with memory on the device */
    struct Replica *next, *previous; /* on the device; users 0: least recently used first */
    struct Replica *next_of_model, *previous_of_model; /* those on idle devices first */
} Replica;

/* A tenant's jobs that use one replica: the tenant is charged the weights once. */
typedef struct Use {
    IdKey key; /* model; device and tenant */
    uint32_t count;
    uint64_t bytes; /* charged */
} Use;

typedef struct Model {
    IdKey key;
    uint64_t bytes;
    uint64_t reference_count; /* jobs and replicas */
    Replica *replicas, *replicas_last;
} Model;

typedef enum DeviceIndex { DEVICE_IN_NONE, DEVICE_IN_IDLE, DEVICE_IN_RUNNING } DeviceIndex;

struct Device {
    IdKey key;
    bool lost, preempting;
    bool deciding;     /* in Policy.deciding: the device waits to be decided about */
    bool processing;   /* the device is being decided about now */
    bool ordered_idle; /* its replicas stand first among their models' */
    DeviceIndex index;
    HeapNode index_node;
    HeapNode waiting_node; /* in Policy.waiting while waiting_count > 0 */
    uint64_t memory_bytes, speed;
    uint64_t indexed_bytes; /* used_bytes when it was put into its index */
    uint64_t waiting_count; /* queue.job_count when it was put into Policy.waiting */
    uint64_t used_bytes;    /* replicas and grants, until they are gone */
    uint64_t leaving_bytes; /* of them: being evicted or moved out */
    uint64_t idle_bytes;    /* of them: resident weights nobody uses */
    Bucket *bucket;
    Queue queue;  /* executions that are here and ready */
    Queue demand; /* jobs that wait for this device alone */
    Job *running;
    PolicyClass running_class; /* while running and in an index */
    PolicyClass fresh;   /* highest class that became ready since the last decision; COUNT: none */
    bool fresh_preempts; /* a slice was stopped for the class in fresh */
    Job *entering[POLICY_CLASS_COUNT];
    Job *residents; /* every job with memory here */
    uint32_t growing_count;
    Replica *idle_replicas, *idle_replicas_last, *used_replicas, *used_replicas_last;
    int64_t floor_ns[POLICY_CLASS_COUNT]; /* device-time that each class is owed */
    Device *next_deciding, *next_stuck;
    bool stuck; /* in Policy.stuck */
};

struct Job {
    IdKey key;
    Account *account;
    Model *model;
    Device *device;   /* where the job is placed; NULL: nowhere */
    Device *demanded; /* NULL: any */
    Seat *seat;
    HeapNode node;         /* in seat->urgent or seat->plain */
    Job *next, *previous;  /* in device->residents, or in Policy.host_jobs */
    JobDeadline *deadline; /* NULL: it never had one */
    uint64_t deadline_ns;  /* to come; UINT64_MAX: none */
    VirtualTime time;
    VirtualTime charged; /* RUNNING: to its account */
    uint64_t bytes;      /* granted, or to be granted */
    uint64_t host_bytes; /* counted in host memory, while it is there or on its way */
    uint64_t grow_bytes; /* asked for in addition, not yet granted */
    uint64_t budget_ns;  /* RUNNING */
    uint32_t weight;
    uint8_t state;  /* PolicyJobState */
    uint8_t place;  /* PolicyPlace */
    uint8_t target; /* MOVING_OUT: the destination */
    uint8_t retries;
    bool open, queued, checkpointed, wants_suspend, wants_cancel;
    bool awake;       /* RUNNING: counts in account->awake_jobs though the job is in no queue */
    bool blocked;     /* BLOCKED, also while the job moves out and after that */
    bool granted;     /* its bytes are counted on the device */
    bool move_failed; /* the job is not asked to move again before it has run */
    bool owed;        /* chosen to pay a floor: the job may push out a higher class */
};

typedef struct PolicyConfig {
    uint64_t quantum_ns, floor_permille, window_ns, swap_ns, host_bytes;
} PolicyConfig;

struct Policy {
    PolicyConfig config;
    uint64_t now_ns, digest;
    bool failed;
    uint64_t longest_ns;   /* slice so far, at least 1 */
    uint64_t least_weight; /* of any tenant so far */
    IdMap tenants, devices, models, jobs, seats, replicas, uses;
    Bucket *buckets[POLICY_MEMORY_SIZES_MAX + 1]; /* by capacity */
    uint32_t bucket_count, queue_count;
    Heap awake[POLICY_CLASS_COUNT];
    VirtualTime greatest[POLICY_CLASS_COUNT]; /* at the end of any slice */
    Heap deadlines;                           /* to come, by when they change the order */
    Heap waiting;      /* devices by how many ready executions wait there, most first */
    Heap timers;       /* tenants by wake_ns */
    uint64_t timer_ns; /* set last; 0: none */
    Job *host_jobs, *host_jobs_last; /* in host memory and waiting, the longest first */
    uint64_t host_used_bytes;
    Device *deciding, *deciding_last;
    Tenant *unparking;
    Device *stuck;     /* an execution there needs more memory and could not be moved */
    uint64_t stuck_ns; /* when a move for stuck devices is tried again; 0: no device is stuck */
    PolicyAction *actions;
    size_t action_count, action_capacity;
};

/* Appends an action to the answer of the present event. */
MUST_CHECK Error *policy_act(Policy *policy, PolicyAction action);
