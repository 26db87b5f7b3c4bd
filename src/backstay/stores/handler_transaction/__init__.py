"""How does a handler's transaction complete its job?

What the handler writes, the jobs it enqueues and the completion of its own job are one transaction. The completion is
its last statement, guarded by the claim; when the reply to the commit is lost, what became of it is found out.
"""
