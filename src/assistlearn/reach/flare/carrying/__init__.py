"""How a message of the initiator gets to another site and back.

A command of the initiator (``train``, ``predict``) asks through a transport. The transport keeps a job running at all
sites; the job's process at the initiator's own site takes the errands from a socket and asks the other sites.

::

    flare_transport.py   the transport: an agent's name and bytes in, bytes out; a broken job is started again
    attendance.py        who answers and who does not, to decide who takes part in the next job
    job.py               one job: submitted, connected to its command, asked, ended
    job_definition.py    what is submitted: which of our classes to run, no code
    control.py           the initiator's session with the relay: lists who is connected, submits and ends jobs
    command_socket.py    the socket between a command and its site's job: errands one way, outcomes the other
    private_folder.py    the socket's folder: private, with a short path, removed by others if its command was killed
    asking.py            short calls to another site, until the answer is there
    pieces.py            large requests and answers, in pieces
"""
